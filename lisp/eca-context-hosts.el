;;; eca-context-hosts.el --- Leave other hosts alone  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; TRAMP waits for its host without an end, also on a connection that seems to live, and an answer that
;; is not waited for spoils the next one.  So while a request is answered nothing is asked of another
;; host: names are names, what a buffer has is known, and the rest is an error of the one who asked.

;;; Code:

(require 'seq)

(defconst eca-context-hosts--regexp "\\`/[^/:|]+[|:]"
  "What names on other hosts begin with.")

(defconst eca-context-hosts--entry
  (cons eca-context-hosts--regexp #'eca-context-hosts--handle)
  "What `file-name-handler-alist' has while hosts are left alone.")

;; What is a name and what is a folder's name, all file systems agree about.
(defconst eca-context-hosts--names
  '(directory-file-name expand-file-name file-name-as-directory file-name-directory
    file-name-nondirectory file-name-sans-versions file-remote-p get-file-buffer
    substitute-in-file-name unhandled-file-name-directory)
  "Operations on names, which need no host.")

(defmacro eca-context-hosts-left-alone (&rest body)
  "Evaluate BODY, in which no other host is asked anything."
  (declare (indent 0) (debug (body)))
  `(let ((file-name-handler-alist
          (cons eca-context-hosts--entry
                (remove eca-context-hosts--entry file-name-handler-alist))))
     ,@body))

(defun eca-context-hosts-remote-p (file)
  "Return non-nil if the name FILE is one on another host.
As long as TRAMP is not loaded, it is not loaded for that: that starts programs."
  (and (string-match-p eca-context-hosts--regexp file)
       (or (not (featurep 'tramp))
           ;; A method that TRAMP does not know, or a name that is none.
           (condition-case nil
               (file-remote-p file)
             (error t)))))

(defun eca-context-hosts--handle (operation &rest arguments)
  "Do OPERATION with ARGUMENTS as far as it needs no other host.
Else signal a `file-error'."
  (let ((name (or (seq-find (lambda (argument)
                              (and (stringp argument)
                                   (string-match-p eca-context-hosts--regexp argument)))
                            arguments)
                  (and (bufferp (car arguments)) (buffer-file-name (car arguments)))
                  default-directory)))
    (cond
     ((eq operation 'file-remote-p)
      (if (featurep 'tramp)
          (eca-context-hosts--pass-on operation arguments)
        name))
     ((not (eca-context-hosts-remote-p name))
      (eca-context-hosts--pass-on operation arguments))
     ;; Where the home folder is, the host knows.
     ((and (eq operation 'expand-file-name) (string-match-p ":~" name)) name)
     ((memq operation eca-context-hosts--names)
      (eca-context-hosts--pass-on operation arguments))
     ((eq operation 'file-truename) (expand-file-name name))
     ((eq operation 'abbreviate-file-name) name)
     ((memq operation '(file-attributes file-name-case-insensitive-p file-symlink-p)) nil)
     ;; What the user has open is there as he has it.
     ((eq operation 'verify-visited-file-modtime) t)
     ((and (memq operation '(file-exists-p file-readable-p file-regular-p))
           (get-file-buffer name))
      t)
     (t (signal 'file-error (list "Another host is not asked" (symbol-name operation) name))))))

(defun eca-context-hosts--pass-on (operation arguments)
  "Do OPERATION with ARGUMENTS, which need no host, as if none was left alone."
  (let ((file-name-handler-alist
         ;; TRAMP would be loaded.
         (and (featurep 'tramp)
              (remove eca-context-hosts--entry file-name-handler-alist))))
    (condition-case nil
        (apply operation arguments)
      ;; A method that TRAMP does not know.
      (error (let ((file-name-handler-alist nil))
               (apply operation arguments))))))

(provide 'eca-context-hosts)
;;; eca-context-hosts.el ends here
