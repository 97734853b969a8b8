;;; eca-context-xref.el --- The definitions that xref backends know  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Each backend of the buffer is asked by itself.  Nothing is visited: places without a line are
;; looked for in temporary buffers.

;;; Code:

(require 'cl-lib)
(require 'find-func)
(require 'seq)
(require 'xref)
(require 'eca-context-position)

(declare-function xref-elisp-location-p "ext:elisp-mode" (cl-x) t)
(declare-function xref-elisp-location-symbol "ext:elisp-mode" (cl-x) t)
(declare-function xref-elisp-location-type "ext:elisp-mode" (cl-x) t)
(declare-function xref-elisp-location-file "ext:elisp-mode" (cl-x) t)
(defvar tags-file-name)
(defvar tags-table-list)

(defun eca-context-xref-definitions (_request _callback)
  "Return a list of outcomes, one for each xref backend that was asked."
  (let (outcomes)
    (dolist (function (eca-context-xref--functions))
      (unless (seq-some (lambda (outcome)
                          (and (plist-get outcome :items)
                               (equal (plist-get outcome :kind) "semantic")))
                        outcomes)
        (push (condition-case err
                  (let ((backend (funcall function)))
                    (and backend (eca-context-xref--ask backend)))
                ((error quit)
                 (list :provider (format "%s" function) :kind "unknown" :status "error"
                       :reason (error-message-string err))))
              outcomes)))
    ;; A backend that would ask the user matters only where no other one looked.
    (let ((looked (seq-filter (lambda (outcome) (equal (plist-get outcome :status) "ok"))
                              outcomes)))
      (nreverse (seq-remove (lambda (outcome)
                              (and looked (equal (plist-get outcome :status) "would-prompt")))
                            (delq nil outcomes))))))

(defun eca-context-xref--functions ()
  "Return the functions of `xref-backend-functions', global ones in place."
  (let (functions)
    (dolist (function (if (functionp xref-backend-functions)
                          (list xref-backend-functions)
                        xref-backend-functions))
      (if (eq function t)
          (dolist (global (default-value 'xref-backend-functions))
            (push global functions))
        (push function functions)))
    (nreverse (delete-dups functions))))

(defun eca-context-xref--kind (backend)
  "Return the provenance of the places of BACKEND."
  (pcase backend
    ('etags "textual")
    ((or 'elisp 'eglot 'xref-lsp) "semantic")
    (_ "unknown")))

(defun eca-context-xref--ask (backend)
  "Ask BACKEND for the definitions of what stands at point; return an outcome."
  (let ((provider (format "xref %s" (if (symbolp backend) backend "backend")))
        (kind (eca-context-xref--kind backend)))
    (if (and (eq backend 'etags) (not (bound-and-true-p tags-file-name))
             (not (bound-and-true-p tags-table-list)))
        (list :provider provider :kind kind :status "would-prompt"
              :reason "no tags table is loaded")
      (let ((identifier (xref-backend-identifier-at-point backend)))
        (if (null identifier)
            (list :provider provider :kind kind :status "ok")
          (let* ((name (substring-no-properties identifier))
                 (missing 0)
                 (items (delq nil
                              (mapcar (lambda (item)
                                        (or (eca-context-xref--place item name)
                                            (progn (setq missing (1+ missing)) nil)))
                                      (xref-backend-definitions backend identifier)))))
            (if (and (null items) (> missing 0))
                (list :provider provider :kind kind :status "error"
                      :reason (format "the source of %s is not on this machine" name))
              (list :provider provider :kind kind :status "ok" :items items))))))))

(defun eca-context-xref--place (item name)
  "Return the place of ITEM, a vector for the module, or nil; NAME stands there."
  (let ((location (xref-item-location item)))
    (cond
     ((xref-file-location-p location)
      (let ((file (expand-file-name (xref-location-group location)))
            (line (xref-location-line location)))
        (and (or (file-remote-p file) (file-exists-p file))
             (vector file (1- line) nil nil nil name))))
     ((xref-buffer-location-p location)
      (let ((marker (xref-location-marker location)))
        (and (buffer-live-p (marker-buffer marker))
             (with-current-buffer (marker-buffer marker)
               (and buffer-file-name
                    (let ((at (car (eca-context-position-sweep (list (marker-position marker))))))
                      (vector buffer-file-name (car at) (cdr at) nil nil name)))))))
     ((and (fboundp 'xref-elisp-location-p) (xref-elisp-location-p location))
      (eca-context-xref--elisp-place location)))))

(defun eca-context-xref--elisp-place (location)
  "Return where the Emacs Lisp LOCATION points, or nil; no file is visited."
  (let* ((symbol (xref-elisp-location-symbol location))
         (type (xref-elisp-location-type location))
         (library (xref-elisp-location-file location))
         (file (and (stringp library)
                    (not (string-match-p "\\.c\\'" library))
                    (ignore-error error (find-library-name library))))
         (regexp (cdr (assq type find-function-regexp-alist)))
         (name (symbol-name (if (consp symbol) (car symbol) symbol))))
    (and file (file-exists-p file)
         (with-temp-buffer
           (insert-file-contents file)
           (set-syntax-table emacs-lisp-mode-syntax-table)
           (let ((case-fold-search nil))
             (goto-char (point-min))
             (when (and (null type) (not regexp))
               (setq regexp 'find-function-regexp))
             (when (and (symbolp regexp) (boundp regexp) (stringp (symbol-value regexp))
                        (re-search-forward
                         (format (symbol-value regexp)
                                 (concat "\\\\?"
                                         (regexp-quote name)))
                         nil t))
               (goto-char (match-beginning 0))
               (when (search-forward name nil t)
                 (let ((range (eca-context-position-range (match-beginning 0) (match-end 0))))
                   (vector file
                           (aref range 0) (aref range 1) (aref range 2) (aref range 3)
                           name)))))))))

(provide 'eca-context-xref)
;;; eca-context-xref.el ends here
