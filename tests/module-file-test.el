;;; module-file-test.el --- Tests of finding, loading and building the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What becomes of a module file that is missing, foreign, of another version, or replaced (C42), each in
;; an Emacs of its own, what else needs such an Emacs, and the command that builds it.

;;; Code:

(require 'ert)
(require 'eca-context-module)

(defun module-file-test-emacs (file form)
  "Return what FORM prints in a new Emacs whose module is the file FILE.
The Emacs must end by itself, with status 0."
  (let* ((clone (file-name-as-directory (make-temp-file "eca-context-module" t)))
         (folder (file-name-as-directory (expand-file-name "lisp" clone))))
    (make-directory folder)
    (unwind-protect
        (progn
          (with-temp-file (expand-file-name "Cargo.toml" clone))
          (when file
            (copy-file file (expand-file-name
                             (file-name-nondirectory (eca-context-module-file)) folder)))
          (with-temp-buffer
            (should (eq 0 (call-process
                           (expand-file-name invocation-name invocation-directory) nil '(t nil) nil
                           "-Q" "--batch" "-L" (file-name-directory
                                                (locate-library "eca-context-module"))
                           "--eval" "(setq native-comp-jit-compilation nil)"
                           "-l" "eca-context" "-l" "eca-context-eca"
                           "--eval" (format "(setq eca-context-module--folder %S)" folder)
                           "--eval" (format "(prin1 %S)" form))))
            (read (buffer-string))))
      (delete-directory clone t))))

(defun module-file-test-patched (at bytes)
  "Return a new file, the module with BYTES in place of those AT, counted from 0."
  (let ((file (make-temp-file "eca-context-module"))
        (coding-system-for-write 'no-conversion))
    (copy-file (getenv "ECA_CONTEXT_MODULE_FILE") file t)
    (write-region bytes nil file at 'silent)
    file))

(ert-deftest module-file-c42-a-sentence-for-each-fault ()
  (let ((foreign (make-temp-file "eca-context-module" nil nil "not a library at all"))
        ;; An ELF file's machine, class and order of bytes, and the first bytes of macOS and Windows.
        (systems (mapcar (pcase-lambda (`(,at . ,bytes)) (module-file-test-patched at bytes))
                         '((18 . "\267") (4 . "\1") (5 . "\2") (0 . "\317\372\355\376") (0 . "MZ"))))
        (cut (make-temp-file "eca-context-module"))
        (link (make-temp-name (expand-file-name "eca-context-module" temporary-file-directory))))
    (make-symbolic-link (getenv "ECA_CONTEXT_MODULE_FILE") link)
    (with-temp-file cut
      (set-buffer-multibyte nil)
      (insert-file-contents-literally (getenv "ECA_CONTEXT_MODULE_FILE") nil 0 100000))
    (unwind-protect
        (pcase-dolist
            (`(,file ,form ,regexp)
             `((nil (eca-context-module-trouble)
                    "\\`the module is not built; M-x eca-context-build-module")
               ;; A copy of the Lisp files alone.
               (nil (progn (delete-file (expand-file-name "../Cargo.toml"
                                                          eca-context-module--folder))
                           (eca-context-module-trouble))
                    "\\`the module is not built; `make build' in a clone .* into .*/lisp/\\'")
               (,foreign (eca-context-module-trouble)
                         "\\`the module does not load (.+); M-x eca-context-build-module")
               ,@(mapcar (lambda (file)
                           (list file '(eca-context-module-trouble)
                                 "\\`the module does not load (.+); M-x eca-context-build-module"))
                         systems)
               (,cut (eca-context-module-trouble)
                     "\\`the module does not load (its file is cut short); M-x eca-context-build-")
               (,link (eca-context-module-trouble) nil)
               ;; Where no copy can be made of it.
               (,(getenv "ECA_CONTEXT_MODULE_FILE")
                (let ((temporary-file-directory "/no/such/folder/"))
                  (eca-context-module-trouble))
                nil)
               (,(getenv "ECA_CONTEXT_MODULE_FILE")
                (progn (eca-context-module-trouble)
                       (let ((eca-context-module-wanted-version "9.9.9"))
                         (eca-context-module-trouble)))
                "\\`version [0-9.]+ of the module is loaded, 9.9.9 is needed; restart Emacs\\'")
               ;; An older one under the name of the one that is needed: to restart does not help.
               (,(getenv "ECA_CONTEXT_MODULE_FILE")
                (let ((file (eca-context-module-file))
                      (eca-context-module-wanted-version "9.9.9"))
                  (copy-file file (eca-context-module-file))
                  (eca-context-module-trouble)
                  (eca-context-module-trouble))
                "is loaded, 9.9.9 is needed; M-x eca-context-build-module builds it, then restart Emacs\\'")
               (,(getenv "ECA_CONTEXT_MODULE_FILE") (eca-context-module-trouble) nil)))
          (let ((said (module-file-test-emacs file form)))
            (if regexp
                (should (string-match-p regexp said))
              (should-not said))))
      (mapc #'delete-file (cons foreign systems))
      (delete-file cut)
      (delete-file link))))

(ert-deftest module-file-c42-the-mode-stays-off ()
  (should (equal (module-file-test-emacs
                  nil '(let (said)
                         (cl-letf (((symbol-function 'message)
                                    (lambda (format &rest arguments)
                                      (push (apply #'format format arguments) said))))
                           (eca-context-mode 1))
                         (list eca-context-mode
                               (advice-member-p #'eca-context-eca--handle
                                                'eca--handle-server-request)
                               (advice-member-p #'eca-context-eca--request
                                                'eca-api-request-async)
                               said)))
                 '(nil nil nil ("eca-context: the module is not built; M-x \
eca-context-build-module builds it")))))

(ert-deftest module-file-c42-written-over-while-loaded ()
  (should (equal (module-file-test-emacs
                  (getenv "ECA_CONTEXT_MODULE_FILE")
                  '(let ((before (directory-files temporary-file-directory nil
                                                  "\\`eca-context-module.*so\\'")))
                     (eca-context-module-trouble)
                     ;; The same inode, as `cp' does it.
                     (let ((coding-system-for-write 'no-conversion))
                       (write-region (make-string 3000000 0) nil (eca-context-module-file)
                                     nil 'silent))
                     (list (plist-get (eca-context-module-plan "editor/getContext" nil nil)
                                      :limit)
                           (eca-context-module-trouble)
                           (equal before (directory-files temporary-file-directory nil
                                                          "\\`eca-context-module.*so\\'")))))
                 '(100 nil t))))

(ert-deftest module-file-reading-ends-for-shared-parts ()
  ;; 2^64 values in 64 vectors.  In an Emacs of its own: with assertions each value of a call costs.
  (should (string-match-p
           "more than [0-9]+ values"
           (module-file-test-emacs
            (getenv "ECA_CONTEXT_MODULE_FILE")
            '(let ((value nil))
               (eca-context-module-trouble)
               (dotimes (_ 64) (setq value (vector value value)))
               (plist-get (plist-get (eca-context-module-plan "editor/getContext" (list :a value) nil)
                                     :error)
                          :message))))))

(ert-deftest module-file-unload-leaves-nothing-and-no-request ()
  (should
   (equal
    (module-file-test-emacs
     (getenv "ECA_CONTEXT_MODULE_FILE")
     '(let ((frames nil)
            (refused 0)
            (deadline (+ (float-time) 20)))
        (defalias 'eca--handle-server-request #'ignore)
        (eca-context-mode 1)
        (eca-context-answer 1 "editor/getContext" (list :include (vector "workspace"))
                            (list :deadline (+ (float-time) 5))
                            (lambda (frame) (push frame frames)))
        (dolist (feature '(eca-context-eca eca-context-collect eca-context-job eca-context))
          (condition-case nil
              (unload-feature feature t)
            (user-error (setq refused (1+ refused)))))
        (while (and (null frames) (< (float-time) deadline))
          (accept-process-output nil 0.01))
        (dolist (feature (copy-sequence features))
          (when (string-prefix-p "eca-context" (symbol-name feature))
            (unload-feature feature t)))
        (list refused (length frames) (fboundp 'eca-context-mode)
              (symbol-function 'eca--handle-server-request))))
    '(4 1 nil ignore))))

(ert-deftest module-file-build-installs-by-rename ()
  (let* ((file (eca-context-module-file))
         ;; A second name keeps the old file, so its number is not given to the new one.
         (old (make-temp-name (concat file "-old")))
         (before (file-attribute-inode-number (file-attributes file)))
         (inhibit-message t)
         (over nil)
         (_ (add-name-to-file file old))
         (compilation-finish-functions (list (lambda (_buffer message) (setq over message))))
         (buffer (eca-context-build-module))
         (deadline (+ (float-time) 280)))
    (unwind-protect
        (progn
          (should (equal (buffer-name buffer) "*eca-context build*"))
          (while (and (not over) (< (float-time) deadline))
            (accept-process-output nil 0.05))
          (should (equal (cons over (with-current-buffer buffer
                                      (goto-char (point-min))
                                      (and (search-forward "built lisp/" nil t) t)))
                         '("finished\n" . t)))
          (should-not (equal before (file-attribute-inode-number (file-attributes file)))))
      (kill-buffer buffer)
      (delete-file old))))

(ert-deftest module-file-build-that-fails-leaves-nothing ()
  (let* ((root (locate-dominating-file (locate-library "eca-context-module") "Cargo.toml"))
         (clone (file-name-as-directory (make-temp-file "eca-context-module" t)))
         (default-directory clone))
    (unwind-protect
        (progn
          (dolist (name '("Makefile" "Cargo.toml"))
            (copy-file (expand-file-name name root) clone))
          ;; It makes no library, so that none can be copied, as on a disk that is full.
          (should-not (eq 0 (call-process "make" nil nil nil "build" "CARGO=true"
                                          (concat "CARGO_TARGET_DIR=" clone "target"))))
          (should-not (directory-files "lisp" nil directory-files-no-dot-files-regexp)))
      (delete-directory clone t))))

(ert-deftest module-file-build-says-what-is-missing ()
  (let ((exec-path nil))
    (with-environment-variables (("CARGO_HOME" "/nowhere"))
      (should (string-match-p "\\`Cargo is missing; install"
                              (cadr (should-error (eca-context-build-module)
                                                  :type 'user-error))))))
  (let ((eca-context-module--folder "/nowhere/lisp/"))
    (should (string-match-p "no Cargo.toml beside /nowhere/lisp/; `make build' in a clone"
                            (cadr (should-error (eca-context-build-module)
                                                :type 'user-error))))))

(provide 'module-file-test)
;;; module-file-test.el ends here
