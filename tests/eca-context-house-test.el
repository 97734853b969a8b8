;;; eca-context-house-test.el --- Tests of the project's files  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What the README and the manual promise of the project's own files.

;;; Code:

(require 'ert)

(defconst eca-context-house-test-root
  (expand-file-name ".." (file-name-directory (or load-file-name buffer-file-name)))
  "The project's folder.")

(defun eca-context-house-test-text (name)
  "Return the text of the project's file NAME."
  (with-temp-buffer
    (insert-file-contents (expand-file-name name eca-context-house-test-root))
    (buffer-string)))

(defun eca-context-house-test-pages ()
  "Return the text of what users read."
  (mapconcat #'eca-context-house-test-text '("README.org" "docs/manual.org") "\n"))

(ert-deftest eca-context-house-module-has-cargo-version ()
  "The module under test is the one that Cargo.toml's version names."
  (should (string-match "^version = \"\\([^\"]+\\)\"" (eca-context-house-test-text "Cargo.toml")))
  (let ((version (match-string 1 (eca-context-house-test-text "Cargo.toml"))))
    (should (string-suffix-p (format "eca-context-module-%s%s" version module-file-suffix)
                             (getenv "ECA_CONTEXT_MODULE_FILE")))
    (should (file-regular-p (getenv "ECA_CONTEXT_MODULE_FILE")))))

(ert-deftest eca-context-house-readme-names-real-targets ()
  "Each `make' word of what users read is a target of the Makefile."
  (let ((makefile (eca-context-house-test-text "Makefile"))
        (pages (eca-context-house-test-pages))
        (start 0)
        (n-found 0))
    (while (string-match "[~=]make \\([a-z-]+\\)[~=]" pages start)
      (setq start (match-end 0)
            n-found (1+ n-found))
      (let ((target (match-string 1 pages)))
        (should (string-match-p (format "^%s:" (regexp-quote target)) makefile))))
    (should (> n-found 2))))

(ert-deftest eca-context-house-readme-names-real-commands ()
  "Each `M-x eca-context-' of what users read is defined in the Lisp files."
  (let ((pages (eca-context-house-test-pages))
        (lisp (mapconcat #'eca-context-house-test-text
                         (directory-files (expand-file-name "lisp" eca-context-house-test-root)
                                          t "\\.el\\'")
                         "\n"))
        (start 0)
        missing)
    (while (string-match "M-x \\(eca-context-[a-z-]+\\)" pages start)
      (setq start (match-end 0))
      (let ((command (match-string 1 pages)))
        (unless (string-match-p (format "^(\\(defun\\|define-minor-mode\\) %s\\_>" command) lisp)
          (push command missing))))
    (should (> start 0))
    (should-not missing)))

(ert-deftest eca-context-house-protocol-page-is-for-any-editor ()
  "Outside the per-editor table the protocol page names no word of Emacs."
  (let ((page (car (split-string (eca-context-house-test-text "docs/protocol.md")
                                 "^## Where each editor" t)))
        (case-fold-search t))
    (should (> (length page) 5000))
    (should-not (string-match
                 "emacs\\|elisp\\|xref\\|imenu\\|flymake\\|flycheck\\|eglot\\|\\_<buffer" page))))

(ert-deftest eca-context-house-protocol-page-shows-json ()
  "Each example of the protocol page that claims to be JSON is JSON."
  (let ((n-found 0))
    (with-temp-buffer
      (insert (eca-context-house-test-text "docs/protocol.md"))
      (goto-char (point-min))
      (while (re-search-forward "^```json\n" nil t)
        (should
         (hash-table-p
          (json-parse-string
           (buffer-substring (point) (progn (re-search-forward "^```$")
                                            (match-beginning 0))))))
        (setq n-found (1+ n-found))))
    (should (> n-found 3))))

;; Without `unsafe' the compiler lets no Lisp value outlive the call it came with (but for the global
;; references that the crate emacs makes), nor reach another thread; what that crate does about it is
;; looked at by the runs with --module-assertions.
(ert-deftest eca-context-house-c41-c43-the-compiler-keeps-lisp-values-in-their-call ()
  "Cargo.toml denies `unsafe', and no Rust file says it or allows it."
  (should (string-match-p "^unsafe_code = \"\\(deny\\|forbid\\)\"$"
                          (eca-context-house-test-text "Cargo.toml")))
  (let ((files (directory-files-recursively (expand-file-name "src" eca-context-house-test-root)
                                            "\\.rs\\'")))
    (should (> (length files) 50))
    (dolist (file files)
      (dolist (line (split-string (eca-context-house-test-text file) "\n"))
        (should-not (and (not (string-match-p "\\`//!" line))
                         (string-match-p "\\_<unsafe\\(_code\\)?\\_>" line)
                         (cons file line)))))))

(provide 'eca-context-house-test)
;;; eca-context-house-test.el ends here
