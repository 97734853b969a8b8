;;; eca-context-etags.el --- Definitions from tags tables  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The tables that etags would look into, as they are now, read in temporary buffers: etags' own way
;; there visits them, changes which ones are current, and asks.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'eca-context-place)

(declare-function etags-file-of-tag "etags" (&optional relative))
(declare-function etags-goto-tag-location "etags" (tag-info))
(declare-function etags-snarf-tag "etags" (&optional use-explicit))
(declare-function etags-tags-included-tables "etags" ())
(declare-function find-tag--completion-ignore-case "etags" ())
(declare-function tags-expand-table-name "etags" (file))
(declare-function xref-etags-location-file "etags" (cl-x) t)
(declare-function xref-etags-location-p "etags" (cl-x) t)
(declare-function xref-etags-location-tag-info "etags" (cl-x) t)
(defvar default-tags-table-function)
(defvar etags-xref-find-definitions-tag-order)
(defvar tags-compression-info-list)
(defvar tags-file-name)
(defvar tags-table-list)

(defconst eca-context-etags--most 1000
  "How many tags are looked at.")

(defun eca-context-etags-tables ()
  "Return the tags tables for the current buffer, absolute file names.
Nil means that etags would ask for one."
  (when (or (featurep 'etags)
            (bound-and-true-p tags-file-name)
            (bound-and-true-p tags-table-list))
    (require 'etags)
    (mapcar #'tags-expand-table-name
            (delete-dups
             (seq-filter #'stringp
                         (append (and default-tags-table-function
                                      (list (funcall default-tags-table-function)))
                                 (list tags-file-name (default-value 'tags-file-name))
                                 tags-table-list))))))

(defun eca-context-etags-find (name)
  "Return the tags of NAME in the buffer's tables, conses (FILE . TAG-INFO).
A table that is missing is left out; an error if all are.  To be called within
`eca-context-place-gather'."
  (let* ((tables (eca-context-etags-tables))
         (folds (find-tag--completion-ignore-case))
         (found (eca-context-etags--search tables name nil)))
    (when (eq found 'none)
      (error "There is no tags table %s" (mapconcat #'abbreviate-file-name tables ", ")))
    (or found
        (and folds (eca-context-etags--search tables name t)))))

(defun eca-context-etags--search (tables name folds)
  "Return the tags of NAME in TABLES and in those that they include.
Case does not matter if FOLDS.  The symbol `none': no table is there."
  (let ((seen nil)
        (is-there nil)
        (tags nil))
    (while tables
      (let ((table (pop tables)))
        (unless (member table seen)
          (push table seen)
          (when (or (get-file-buffer table) (eca-context-etags--readable-p table))
            (setq is-there t)
            (eca-context-etags--in table
              (lambda ()
                (setq tables (append (etags-tags-included-tables) tables))
                (goto-char (point-min))
                (dolist (tag (eca-context-etags--tags name folds))
                  (cl-pushnew tag tags :test #'equal))))))))
    (if is-there (nreverse tags) 'none)))

(defun eca-context-etags--readable-p (table)
  "Return non-nil if the file TABLE can be read; a pipe would be waited for."
  (and (file-regular-p table) (file-readable-p table)))

(defun eca-context-etags--in (table function)
  "Call FUNCTION in a temporary buffer with the text of TABLE."
  (declare (indent 1))
  (let ((buffer (get-file-buffer table)))
    (with-temp-buffer
      (if (eca-context-etags--readable-p table)
          (insert-file-contents table)
        (insert (with-current-buffer buffer
                  (save-restriction
                    (widen)
                    (buffer-substring-no-properties (point-min) (point-max))))))
      (setq default-directory (file-name-directory table))
      (goto-char (point-min))
      (funcall function))))

(defun eca-context-etags--tags (name folds)
  "Return the tags of NAME in the table in the current buffer.
Case does not matter if FOLDS."
  (let ((case-fold-search folds)
        (count 0)
        (tags nil))
    (while (and (search-forward name nil t) (< count eca-context-etags--most))
      (when (cl-some (lambda (matches-p) (funcall matches-p name))
                     etags-xref-find-definitions-tag-order)
        (setq count (1+ count))
        (beginning-of-line)
        (let ((file (etags-file-of-tag))
              (info (save-excursion (etags-snarf-tag))))
          (push (cons file info) tags))
        (forward-line)))
    (nreverse tags)))

(defun eca-context-etags-location-p (location)
  "Return non-nil if LOCATION is one of etags."
  (and (fboundp 'xref-etags-location-p) (xref-etags-location-p location)))

(defun eca-context-etags-location-place (location name)
  "Return the place of NAME that LOCATION, one of etags, points to."
  (eca-context-etags-place (xref-etags-location-file location)
                           (xref-etags-location-tag-info location)
                           name))

(defun eca-context-etags-place (file info name)
  "Return the place of NAME in FILE that INFO of a tag describes.
A FILE that is not there, or holds no such line, is an error."
  (let ((syntax (syntax-table))
        (file (or (locate-file file nil (if auto-compression-mode
                                            tags-compression-info-list
                                          '("")))
                  (and (find-buffer-visiting file) file)
                  (error "There is no such file"))))
    (eca-context-place-in file
      (lambda ()
        ;; Only said by etags when it fails.
        (condition-case nil
            (etags-goto-tag-location info)
          (error (error "The tags table is older than %s" (file-name-nondirectory file))))
        (with-syntax-table syntax
          (eca-context-place-vector
           file name
           (or (eca-context-place-symbol name (line-end-position))
               (cons (point) (point)))))))))

(provide 'eca-context-etags)
;;; eca-context-etags.el ends here
