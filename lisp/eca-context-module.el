;;; eca-context-module.el --- Find, load and build the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The native module lies beside this file under a name that holds its version.  A loaded module
;; cannot be unloaded, so a new one takes another name or replaces the file by rename.

;;; Code:

(declare-function eca-context-module-version "ext:eca-context-module" () t)

(defconst eca-context-module-wanted-version "0.1.0"
  "The version of the module that these Lisp files need.")

(defconst eca-context-module--folder
  (file-name-directory (or load-file-name buffer-file-name default-directory))
  "Where the Lisp files and the module lie.")

(defun eca-context-module-file ()
  "Return the absolute name of the module's file, whether it is there or not."
  (expand-file-name (format "eca-context-module-%s%s"
                            eca-context-module-wanted-version
                            (or (bound-and-true-p module-file-suffix) ".so"))
                    eca-context-module--folder))

(defun eca-context-module-trouble ()
  "Load the module unless it is loaded; return nil or a sentence of trouble."
  (let ((file (eca-context-module-file)))
    (cond
     ((not (fboundp 'module-load))
      "this Emacs was built without modules; install one with module support")
     ((and (not (fboundp 'eca-context-module-version)) (not (file-exists-p file)))
      "the module is not built; M-x eca-context-build-module builds it")
     ((let ((trouble (eca-context-module--load file)))
        (and trouble
             (format "the module does not load (%s); M-x eca-context-build-module builds it anew"
                     trouble))))
     ((not (equal (eca-context-module-version) eca-context-module-wanted-version))
      (format "version %s of the module is loaded, %s is needed; restart Emacs"
              (eca-context-module-version) eca-context-module-wanted-version)))))

(defun eca-context-module--load (file)
  "Load the module FILE unless one is loaded; return the error's text, or nil."
  (unless (fboundp 'eca-context-module-version)
    (condition-case err
        (progn (module-load file) nil)
      (error (error-message-string err)))))

;;;###autoload
(defun eca-context-build-module ()
  "Build the module with cargo in the background, beside the Lisp files.
The output is in a compilation buffer."
  (interactive)
  (let ((root (file-name-directory (directory-file-name eca-context-module--folder))))
    (unless (file-exists-p (expand-file-name "Cargo.toml" root))
      (user-error "There is no Cargo.toml in %s; the module is built in a clone" root))
    (unless (executable-find "cargo")
      (user-error "Cargo is missing; install a Rust toolchain, 1.88 or newer"))
    (let ((default-directory root))
      (compilation-start "make build" nil (lambda (_mode) "*eca-context build*")))))

(provide 'eca-context-module)
;;; eca-context-module.el ends here
