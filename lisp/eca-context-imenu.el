;;; eca-context-imenu.el --- The document symbols that imenu knows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A fresh index from the buffer's own index function; the user's cached one stays as it is.  No
;; entry's function is ever called.  An index is made anew when the text or anything has changed that
;; it is known to follow from.

;;; Code:

(require 'cl-lib)
(require 'imenu)
(require 'nadvice)
(require 'seq)
(require 'eca-context-org)
(require 'eca-context-position)

(defvar eca-context-imenu--known (make-hash-table :test #'eq :weakness 'key)
  "Buffers and what is known of each: (KEY . ITEMS).")

(defvar eca-context-imenu--variables nil
  "How many features there were, and the variables that are named for imenu.")

(defconst eca-context-imenu--servers '(eglot-imenu lsp--imenu-create-index)
  "Index functions that wait for a language server, which is asked directly.")

(defun eca-context-imenu--function ()
  "Return the buffer's index function but for that of a language server."
  (let ((function imenu-create-index-function))
    (dolist (server eca-context-imenu--servers)
      (when (advice-function-member-p server function)
        (remove-function (var function) server)))
    (if (memq function eca-context-imenu--servers)
        #'imenu-default-create-index-function
      function)))

(defun eca-context-imenu-document-symbols (_request _callback)
  "Return the buffer's symbols by imenu's own index function, an outcome.
Items are vectors NAME, LINE, CHARACTER, CHILDREN.  As long as the text stays as
it is they are the ones of the last time."
  (let* ((imenu-create-index-function (eca-context-imenu--function))
         (known (gethash (current-buffer) eca-context-imenu--known))
         (key (eca-context-imenu--key)))
    (condition-case err
        (list :provider "imenu" :kind "textual" :status "ok"
              :items (if (equal (car known) key)
                         (cdr known)
                       (let ((items (eca-context-imenu--items)))
                         (puthash (current-buffer) (cons key items) eca-context-imenu--known)
                         items)))
      (imenu-unavailable
       (list :provider "imenu" :kind "textual" :status "unsupported-by-provider"
             :reason (error-message-string err))))))

(defun eca-context-imenu--key ()
  "Return what the index of the buffer follows from, to be compared by `equal'.
That is the text, the mode, its syntax, and all that modes and users set for
imenu, by the values as they are now."
  (unless (eql (car eca-context-imenu--variables) (length features))
    (setq eca-context-imenu--variables
          (cons (length features)
                (seq-remove (lambda (variable)
                              (string-match-p "\\`eca-context-\\|--\\|history\\|-hook\\'\\|-map\\'\\|marker"
                                              (symbol-name variable)))
                            (apropos-internal "imenu" #'boundp)))))
  (list (buffer-chars-modified-tick) major-mode (syntax-table) case-fold-search
        (mapcar (lambda (variable)
                  (let ((value (and (boundp variable) (symbol-value variable))))
                    (if (and (consp value) (proper-list-p value)) (copy-tree value) value)))
                (cdr eca-context-imenu--variables))))

(defun eca-context-imenu-entries ()
  "Return the names that imenu knows, lists (NAME LINE CHARACTER), in order.
A buffer without an index has none."
  (let ((entries nil)
        (left (append (plist-get (eca-context-imenu-document-symbols nil nil) :items) nil)))
    (while left
      (let ((item (pop left)))
        (when (aref item 1)
          (push (list (aref item 0) (aref item 1) (aref item 2)) entries))
        (when (> (length item) 3)
          (setq left (append (aref item 3) left)))))
    (sort entries (lambda (a b)
                    (or (< (nth 1 a) (nth 1 b))
                        (and (= (nth 1 a) (nth 1 b)) (< (nth 2 a) (nth 2 b))))))))

(defun eca-context-imenu--items ()
  "Return the items of a fresh index of the buffer."
  (let* ((imenu-auto-rescan nil)
         (imenu--index-alist nil)
         (index (save-excursion
                  ;; The dots are for the eye.
                  (cl-progv (and (boundp 'latex-imenu-indent-string) '(latex-imenu-indent-string))
                      '("")
                    (funcall (if (derived-mode-p 'org-mode)
                                 #'eca-context-org-index
                               imenu-create-index-function)))))
         (positions (eca-context-imenu--positions index))
         (table (make-hash-table)))
    (let ((places (eca-context-position-sweep positions)))
      (while positions
        (puthash (pop positions) (pop places) table)))
    (eca-context-imenu--entries index table)))

(put 'eca-context-imenu-document-symbols 'eca-context-computes t)

(defun eca-context-imenu--position (value)
  "Return the buffer position that an entry's VALUE names, or nil."
  (let ((value (if (consp value) (car value) value)))
    (cond ((and (integerp value) (> value 0)) value)
          ((and (markerp value) (eq (marker-buffer value) (current-buffer)))
           (marker-position value))
          ((and (overlayp value) (eq (overlay-buffer value) (current-buffer)))
           (overlay-start value)))))

(defun eca-context-imenu--group-p (value)
  "Return non-nil if an entry's VALUE is a list of entries."
  (or (null value)
      (and (consp value) (listp (cdr value))
           (consp (car value)) (stringp (caar value)))))

(defun eca-context-imenu--rescan-p (entry)
  "Return non-nil if ENTRY is imenu's own one to rescan."
  (and (equal (car entry) "*Rescan*") (integerp (cdr entry)) (< (cdr entry) 0)))

(defun eca-context-imenu--positions (index)
  "Return the positions in INDEX, without order."
  (let (positions)
    (dolist (entry index)
      (when (consp entry)
        (if (eca-context-imenu--group-p (cdr entry))
            (setq positions (nconc (eca-context-imenu--positions (cdr entry)) positions))
          (let ((pos (eca-context-imenu--position (cdr entry))))
            (when pos (push pos positions))))))
    positions))

(defun eca-context-imenu--entries (index table)
  "Return INDEX as vectors; TABLE maps positions to conses of line and character."
  (let (entries)
    (dolist (entry index)
      (when (and (consp entry) (stringp (car entry)) (not (eca-context-imenu--rescan-p entry)))
        (let ((name (eca-context-imenu--name (car entry))))
          (if (eca-context-imenu--group-p (cdr entry))
              (let ((below (vconcat (eca-context-imenu--entries (cdr entry) table))))
                (push (if (eca-context-imenu--title-p name)
                          (vector name nil nil below "group")
                        (vector name nil nil below))
                      entries))
            (let ((place (gethash (eca-context-imenu--position (cdr entry)) table))
                  (kind (eca-context-imenu--kind (car entry))))
              (push (if kind
                        (vector name (car place) (cdr place) nil kind)
                      (vector name (car place) (cdr place)))
                    entries))))))
    (nreverse entries)))

(defun eca-context-imenu--name (name)
  "Return an entry's NAME as it is, without properties.
Python's mode with tree-sitter adds dots to \"(class)\" of one with members."
  (let ((name (substring-no-properties name)))
    (if (string-suffix-p ")..." name)
        (substring name 0 -3)
      name)))

(defun eca-context-imenu--title-p (name)
  "Return non-nil if NAME is the title of a menu, and not that of a symbol."
  (and (eq imenu-create-index-function #'imenu-default-create-index-function)
       (assoc name imenu-generic-expression)))

(defun eca-context-imenu--kind (name)
  "Return the kind in the properties of an entry's NAME, or nil."
  (and (> (length name) 0)
       (let ((kind (or (get-text-property 0 'imenu-kind name)
                       (get-text-property 0 'breadcrumb-kind name))))
         (and (stringp kind) (substring-no-properties kind)))))

(provide 'eca-context-imenu)
;;; eca-context-imenu.el ends here
