;;; eca-context-xref-place.el --- The places that xref items name  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; From items of any backend, with locations of any kind, to places for the module.  It asks no backend.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'xref)
(require 'eca-context-elisp)
(require 'eca-context-etags)
(require 'eca-context-place)
(require 'eca-context-position)

(defun eca-context-xref-place-each (found place)
  "Return the places of what was FOUND, each by the function PLACE, and why not.
That is a cons of a list of vectors and the first reason for leaving one out, or
nil."
  (let (items trouble)
    (dolist (one found)
      (condition-case err
          (push (funcall place one) items)
        (error (setq trouble (or trouble (error-message-string err))))))
    (cons (nreverse items) trouble)))

(defun eca-context-xref-place (item name)
  "Return the place of ITEM, a vector for the module; NAME stands there.
An error, with the reason, if it has none."
  (let ((location (xref-item-location item)))
    (cond
     ((xref-file-location-p location)
      (eca-context-xref-place--in-file (xref-file-location-file location)
                                       (xref-file-location-line location)
                                       (xref-file-location-column location) name))
     ((xref-buffer-location-p location)
      (eca-context-xref-place--in-buffer (xref-buffer-location-buffer location)
                                         (xref-buffer-location-position location) name))
     ((xref-bogus-location-p location)
      (error "%s" (xref-bogus-location-message location)))
     ((eca-context-elisp-location-p location)
      (eca-context-elisp-location-place location))
     ((eca-context-etags-location-p location)
      (eca-context-etags-location-place location name))
     ((let ((group (xref-location-group location))
            (line (xref-location-line location)))
        (and (integerp line) (stringp group)
             (file-exists-p (expand-file-name group))
             (eca-context-xref-place--in-file group line nil name))))
     ;; Its own way, which mostly visits; the caller buries that.
     (t (let ((marker (xref-location-marker location)))
          (eca-context-xref-place--in-buffer (marker-buffer marker) (marker-position marker)
                                             name))))))

(defun eca-context-xref-place--in-file (file line column name)
  "Return the place of NAME at LINE (from 1) and COLUMN (or nil) of FILE."
  (unless (and (stringp file) (not (string-search "\0" file)))
    (error "A place without a file"))
  (unless (and (or (null line) (and (integerp line) (> line 0)))
               (or (null column) (and (integerp column) (>= column 0))))
    (error "A place without a line"))
  (unless (eca-context-xref-place--uri-p file)
    (setq file (expand-file-name file))
    (unless (or (file-remote-p file) (file-exists-p file) (find-buffer-visiting file))
      (error "There is no file %s" (file-name-nondirectory file)))
    (eca-context-place-note-opaque file))
  (vector file (and line (1- line)) column nil nil name))

(defun eca-context-xref-place--uri-p (file)
  "Return non-nil if FILE is no file name but a URI, as `jar:' of a library."
  (let ((case-fold-search t))
    (string-match-p "\\`[a-z][a-z0-9+.-]+:[^:]" file)))

(defun eca-context-xref-place--in-buffer (buffer position name)
  "Return the place of NAME at POSITION of BUFFER, the text of a file."
  (let* ((buffer (and buffer (get-buffer buffer)))
         (file (and buffer (buffer-file-name (or (buffer-base-buffer buffer) buffer)))))
    (unless file
      (error "The place is in no file"))
    (eca-context-place-in file
      (lambda ()
        (let ((at (car (eca-context-position-sweep (list position)))))
          (vector file (car at) (cdr at) nil nil name))))))

;;;; Thousands of them

(defun eca-context-xref-place-references (found name)
  "Return the places of FOUND, xref items where NAME stands, and why not all.
That is a cons like that of `eca-context-xref-place-each'."
  (let ((files (make-hash-table :test #'equal))
        (last nil))
    (eca-context-xref-place-each
     found
     (lambda (item)
       (let ((location (xref-item-location item)))
         (if (not (xref-file-location-p location))
             (eca-context-xref-place--reference (eca-context-xref-place item name))
           (let* ((file (xref-file-location-file location))
                  (line (xref-file-location-line location))
                  (column (xref-file-location-column location))
                  (true (gethash file files)))
             ;; Once a file: there may be thousands of places.
             (when (or (not (stringp true)) (not (integerp line)) (< line 1))
               (setq true (aref (eca-context-xref-place--in-file file line column name) 0))
               (puthash file true files))
             (setq last (eca-context-xref-place--span item file line column name last))
             (vector true (1- line) (or (nth 2 last) column)
                     (and (nth 3 last) (1- line)) (nth 3 last) name nil nil))))))))

(defun eca-context-xref-place--reference (place &optional declaration)
  "Return PLACE as a reference, DECLARATION t, `:json-false', or nil."
  (vconcat (seq-take place 6) (list declaration (and (> (length place) 7) (aref place 7)))))

(defun eca-context-xref-place--span (item file line column name last)
  "Return (FILE LINE BEG END . AFTER) of ITEM at COLUMN, in UTF-16 units of LINE.
LAST is what this returned for the item before; NAME stands there.  With the
first match in a line xref keeps the text from the line's start to the second
match, and so on: so the text before a match is known.  AFTER is (COLUMN .
UNITS) of that text's end.  BEG and END are nil where it does not fit."
  (let* ((length (xref-match-length item))
         (text (and length (xref-item-summary item)))
         (next (and (equal (car last) file) (eql (cadr last) line) (nthcdr 4 last)))
         (start (cond ((and next (eql (car next) column)) next)
                      ((null next) (cons 0 (if (and text (eql line 1) (string-prefix-p "\ufeff" text))
                                               -1 0)))))
         (at (and start column (- column (car start)))))
    (if (not (and text at (>= at 0) (<= (+ at length) (length text))
                  (equal (substring-no-properties text at (+ at length)) name)))
        (list file line nil nil)
      (let ((beg (+ (cdr start) (eca-context-position-units-of (substring text 0 at)))))
        (append (list file line beg (+ beg (eca-context-position-units-of name)))
                (cons (+ (car start) (length text))
                      (+ (cdr start) (eca-context-position-units-of text))))))))

(provide 'eca-context-xref-place)
;;; eca-context-xref-place.el ends here
