;;; lint.el --- Hold the Lisp files to the house's rules  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; emacs -Q --batch -l tests/lint.el -f lint
;;
;; Byte-compiles with warnings as errors into a temporary folder, then runs checkdoc, check-declare
;; and, where Debian's package-lint is installed for this Emacs, package-lint.  Prints each fault as
;; FILE:LINE: MESSAGE and exits with status 1 if there is one.  No foreign package is on the load
;; path while compiling: a file that needs one to compile is at fault.

;;; Code:

(require 'bytecomp)
(require 'checkdoc)
(require 'check-declare)
(require 'cl-lib)
(require 'package)

(defvar package-lint-main-file)
(declare-function package-lint-buffer "ext:package-lint" (&optional buffer))

(defconst lint-root
  (expand-file-name ".." (file-name-directory (or load-file-name buffer-file-name)))
  "The project's folder.")

(defconst lint-accepted nil
  "Regexps of messages that are no fault; beside each stands why.")

(defvar lint-n-faults 0
  "How many faults were reported.")

(defun lint-report (file line message)
  "Print MESSAGE about LINE of FILE and count it, unless it is accepted."
  (unless (cl-some (lambda (regexp) (string-match-p regexp message)) lint-accepted)
    (setq lint-n-faults (1+ lint-n-faults))
    (princ (format "%s:%s: %s\n" (file-relative-name file lint-root) (or line 1) message))))

(defun lint-files (&rest folders)
  "Return the Lisp files of FOLDERS, relative to the project."
  (mapcan (lambda (folder)
            (let ((dir (expand-file-name folder lint-root)))
              (and (file-directory-p dir)
                   (seq-remove (lambda (file)
                                 (string-suffix-p "-autoloads.el" file))
                               (directory-files dir t "\\`[^.].*\\.el\\'")))))
          folders))

(defun lint-byte-compile (files)
  "Byte-compile FILES into a temporary folder; each warning is a fault."
  (let* ((folder (make-temp-file "eca-context-lint" t))
         (byte-compile-dest-file-function
          (lambda (file)
            (expand-file-name (concat (file-name-nondirectory file) "c") folder)))
         (byte-compile-warnings t)
         (byte-compile-docstring-max-column 80))
    (unwind-protect
        (dolist (file files)
          (let ((byte-compile-log-warning-function
                 (lambda (string &optional position _fill level)
                   (lint-report file
                                (and (integer-or-marker-p position)
                                     (with-temp-buffer
                                       (insert-file-contents file)
                                       (line-number-at-pos (min position (point-max)) t)))
                                (format "%s: %s" (or level :warning) string)))))
            (unless (byte-compile-file file)
              (lint-report file 1 "does not compile"))))
      (delete-directory folder t))))

(defun lint-checkdoc (files)
  "Hold the docstrings and comments of FILES to checkdoc."
  (dolist (file files)
    (let ((checkdoc-create-error-function
           (lambda (text start _end &optional _unfixable)
             (lint-report file
                          (and start
                               (with-current-buffer (find-file-noselect file)
                                 (line-number-at-pos start t)))
                          (concat "checkdoc: " text))
             nil))
          (checkdoc-autofix-flag 'never)
          (checkdoc-spellcheck-documentation-flag nil)
          (checkdoc-verb-check-experimental-flag t))
      (with-current-buffer (find-file-noselect file)
        (save-window-excursion
          (checkdoc-current-buffer t))))))

(defun lint-check-declare (files)
  "Check the `declare-function' forms of FILES."
  (let ((default-directory (file-name-as-directory lint-root))
        (inhibit-message t))
    (pcase-dolist (`(,_place . ,faults) (apply #'check-declare-files files))
      (pcase-dolist (`(,file ,name ,message) faults)
        (lint-report file 1 (format "check-declare: %s: %s" name message))))))

(defun lint-package (files)
  "Run package-lint over FILES, if it is there for this Emacs.
It knows no Emacs newer than 28 and asks to depend on a release of the past;
that one check is left out."
  (when (require 'package-lint nil t)
    (advice-add 'package-lint--check-emacs-version :override #'ignore)
    (setq package-lint-main-file (expand-file-name "lisp/eca-context.el" lint-root))
    (dolist (file files)
      (with-current-buffer (find-file-noselect file)
        (pcase-dolist (`(,line ,_column ,type ,message) (package-lint-buffer))
          (lint-report file line (format "package-lint: %s: %s" type message)))))))

(defun lint-forbidden (files)
  "Report words in FILES that the house rules out."
  (let ((case-fold-search nil))
    (dolist (file files)
      (with-temp-buffer
        (insert-file-contents file)
        (set-syntax-table emacs-lisp-mode-syntax-table)
        (dolist (word '("(current-column" "(move-to-column" "(ignore-errors" "(sit-for"
                        "(with-eval-after-load"))
          (goto-char (point-min))
          (while (search-forward word nil t)
            (unless (nth 8 (syntax-ppss))
              (lint-report file (line-number-at-pos nil t)
                           (format "%s is not for this house" (substring word 1))))))))))

(defun lint ()
  "Check all Lisp files and exit."
  (setq load-prefer-newer t)
  (add-to-list 'load-path (expand-file-name "lisp" lint-root))
  (add-to-list 'load-path (expand-file-name "tests" lint-root))
  (add-to-list 'load-path (expand-file-name "benches" lint-root))
  (let ((product (lint-files "lisp"))
        (tests (lint-files "tests" "benches")))
    (lint-byte-compile (append product tests))
    (lint-checkdoc product)
    (when product (lint-check-declare product))
    (lint-forbidden product)
    ;; Only now: what compiles must do so without them.
    (dolist (dir (file-expand-wildcards
                  "/usr/share/emacs/site-lisp/elpa-src/package-lint-[0-9]*"))
      (add-to-list 'load-path dir))
    (when (version< emacs-version "29")
      (lint-package product))
    (princ (format "lint: Emacs %s, %d files, %d faults\n" emacs-version
                   (+ (length product) (length tests)) lint-n-faults))
    (kill-emacs (if (zerop lint-n-faults) 0 1))))

(provide 'lint)
;;; lint.el ends here
