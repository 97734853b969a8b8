;;; eca-context-module.el --- Find, load and build the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The native module lies beside this file under a name that holds its version.  A loaded module
;; cannot be unloaded, so a new one takes another name or replaces the file by rename.

;;; Code:

(require 'seq)

(declare-function eca-context-module-version "ext:eca-context-module" () t)

(defconst eca-context-module-wanted-version "0.1.0"
  "The version of the module that these Lisp files need.")

(defconst eca-context-module--folder
  (file-name-directory (or load-file-name buffer-file-name default-directory))
  "Where the Lisp files and the module lie.")

(defvar eca-context-module--loaded nil
  "The file that the loaded module is from.")

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
      (format "the module is not built; %s" (eca-context-module--remedy "builds it")))
     ((let ((trouble (eca-context-module--load file)))
        (and trouble
             (format "the module does not load (%s); %s"
                     trouble (eca-context-module--remedy "builds it anew")))))
     ((not (equal (eca-context-module-version) eca-context-module-wanted-version))
      (format "version %s of the module is loaded, %s is needed; %srestart Emacs"
              (eca-context-module-version) eca-context-module-wanted-version
              ;; Its file has the right name, so the next Emacs would load it again.
              (if (equal file eca-context-module--loaded)
                  (concat (eca-context-module--remedy "builds it") ", then ")
                ""))))))

(defun eca-context-module--root ()
  "Return the folder of the clone that these Lisp files are of, or nil.
A copy of the Lisp files alone, as `package-install-file' makes, has none."
  (let ((root (file-name-directory (directory-file-name eca-context-module--folder))))
    (and (file-exists-p (expand-file-name "Cargo.toml" root))
         root)))

(defun eca-context-module--remedy (does)
  "Return what to do so that there is a module.
DOES is the end of a sentence about the command that builds one."
  (if (eca-context-module--root)
      (concat "M-x eca-context-build-module " does)
    (format "`make build' in a clone of eca-context builds it; put its lisp/ into `load-path', or %s into %s"
            (file-name-nondirectory (eca-context-module-file))
            (abbreviate-file-name eca-context-module--folder))))

(defun eca-context-module--load (file)
  "Load the module FILE unless one is loaded; return the error's text, or nil."
  (unless (fboundp 'eca-context-module-version)
    (condition-case err
        (if (eca-context-module--cut-short-p file)
            "its file is cut short"
          (eca-context-module--load-copy file)
          (setq eca-context-module--loaded file)
          nil)
      (error (error-message-string err)))))

(defun eca-context-module--cut-short-p (file)
  "Return non-nil if FILE, an ELF library, is not all there.
To load such a one may kill Emacs.  The table of sections is what ends it."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally file nil 0 64)
    ;; Of 64 bits, the low byte first.
    (and (looking-at-p "\177ELF\2\1")
         (= (buffer-size) 64)
         (let ((number (lambda (from to)
                         (seq-reduce (lambda (sum byte) (+ (* 256 sum) byte))
                                     (reverse (buffer-substring (1+ from) (1+ to))) 0))))
           (> (+ (funcall number 40 48) (* (funcall number 58 60) (funcall number 60 62)))
              (file-attribute-size (file-attributes (file-truename file))))))))

(defun eca-context-module--load-copy (file)
  "Load a copy of the module FILE that nobody can write over; return nil.
Where copies cannot be made (no folder of temporary files, or a full one), or
cannot be loaded (some systems forbid it there), or need not be, load FILE
itself."
  (let ((copy (and (not (eq system-type 'windows-nt))
                   (condition-case nil
                       (make-temp-file "eca-context-module" nil (file-name-extension file t))
                     (error nil)))))
    (unwind-protect
        (condition-case nil
            (progn
              (unless copy (error "There is no copy"))
              (copy-file file copy t)
              (module-load copy))
          (error (module-load file)))
      (when copy (delete-file copy))))
  nil)

(defun eca-context-module--tool (name)
  "Return the file of the program NAME, also where rustup puts it, or nil."
  (or (executable-find name)
      (let ((file (expand-file-name name (expand-file-name
                                          "bin" (or (getenv "CARGO_HOME") "~/.cargo")))))
        (and (file-executable-p file) file))))

;;;; Building

;;;###autoload
(defun eca-context-build-module ()
  "Build the module with cargo in the background, beside the Lisp files.
The output is in a compilation buffer; \\[kill-compilation] there stops it."
  (interactive)
  (let ((root (eca-context-module--root))
        (cargo (eca-context-module--tool "cargo"))
        (make (eca-context-module--tool "make")))
    (unless root
      (user-error "There is no Cargo.toml beside %s; %s" eca-context-module--folder
                  (eca-context-module--remedy "")))
    (unless cargo
      (user-error "Cargo is missing; install a Rust toolchain, 1.88 or newer"))
    (unless make
      (user-error "Make is missing; install it, or run cargo as the Makefile does"))
    (let ((default-directory root))
      (with-current-buffer
          (compilation-start (concat (shell-quote-argument make) " build CARGO="
                                     (shell-quote-argument cargo))
                             nil (lambda (_mode) "*eca-context build*"))
        (add-hook 'compilation-finish-functions #'eca-context-module--built nil t)
        (current-buffer)))))

(defun eca-context-module--built (_buffer message)
  "Say what to do after a build that ended with MESSAGE."
  (message "eca-context: %s"
           (cond ((not (string-prefix-p "finished" message))
                  "the build failed; its buffer says why")
                 ((fboundp 'eca-context-module-version)
                  "built; it is used from the next start of Emacs on")
                 (t "built; M-x eca-context-mode uses it"))))

(provide 'eca-context-module)
;;; eca-context-module.el ends here
