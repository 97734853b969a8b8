;;; eca-context-place.el --- Places in files, without visiting them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Where a place has no line, its file's text is searched: the buffer that visits it, else a temporary
;; one.  The text is handed over where what is on disk cannot be read as it lies: compressed, remote, in
;; another encoding, or unsaved.  It knows no language and no provider.

;;; Code:

(require 'eca-context-files)
(require 'eca-context-position)

(defvar eca-context-place--copy nil
  "Name and temporary buffer of the file that was read last, a cons.")

(defvar eca-context-place--texts nil
  "What is to be handed over: conses of a file's name and its vector, or nil.")

(defconst eca-context-place-most 4194304
  "How many characters of texts are handed over; without its text a place stays.")

(defun eca-context-place-gather (function)
  "Call FUNCTION for an outcome and return that with the texts of its places.
Only within, other functions of this file may be called."
  (let (eca-context-place--copy eca-context-place--texts)
    (unwind-protect
        (let* ((outcome (funcall function))
               (texts (delq nil (mapcar #'cdr eca-context-place--texts))))
          (if texts
              (append outcome (list :texts texts))
            outcome))
      (eca-context-place--forget))))

(defun eca-context-place--forget ()
  "Kill the temporary buffer, if there is one."
  (when eca-context-place--copy
    (let ((kill-buffer-query-functions nil))
      (kill-buffer (cdr eca-context-place--copy)))
    (setq eca-context-place--copy nil)))

(defun eca-context-place-in (file function)
  "Call FUNCTION in a buffer with the text of FILE and return its value.
The buffer is widened, point is at its start; a buffer of the user's is left as
it was.  A file that cannot be read, or that the user excludes, is an error."
  (declare (indent 1))
  (let ((visiting (find-buffer-visiting file)))
    (with-current-buffer (or visiting (eca-context-place--read file))
      (save-excursion
        (save-restriction
          (widen)
          (goto-char (point-min))
          (prog1 (funcall function)
            (eca-context-place--note file (and visiting t))))))))

(defun eca-context-place--read (file)
  "Return a temporary buffer with the text of FILE."
  (unless (equal (car eca-context-place--copy) file)
    (eca-context-place--forget)
    (when (eca-context-files-excluded-p file)
      (error "The user excludes this file"))
    (unless (file-regular-p file)
      (error "There is no such file"))
    (when (and large-file-warning-threshold
               (> (file-attribute-size (file-attributes file)) large-file-warning-threshold))
      (error "The file is over `large-file-warning-threshold'"))
    (setq eca-context-place--copy
          (cons file (generate-new-buffer " *eca-context place*" t)))
    (with-current-buffer (cdr eca-context-place--copy)
      (insert-file-contents file)
      (setq default-directory (file-name-directory file))))
  (cdr eca-context-place--copy))

(defun eca-context-place--note (file visiting)
  "Note the text of FILE, that of the current buffer, if it must be handed over.
VISITING is nil if the buffer is a copy of what is on disk."
  (unless (assoc file eca-context-place--texts)
    (let ((modified (and visiting (buffer-modified-p))))
      (push (cons file
                  (and (or modified (eca-context-place-opaque-p file)
                           (and visiting (not (verify-visited-file-modtime (current-buffer)))))
                       (< (apply #'+ (buffer-size)
                                 (mapcar (lambda (text)
                                           (if (cdr text) (length (aref (cdr text) 1)) 0))
                                         eca-context-place--texts))
                          eca-context-place-most)
                       (eca-context-place-text file modified)))
            eca-context-place--texts))))

(defun eca-context-place-opaque-p (file)
  "Return non-nil if FILE's bytes are not the current buffer's text in UTF-8."
  (or (find-file-name-handler file 'insert-file-contents)
      (not (memq (coding-system-base (or buffer-file-coding-system 'undecided))
                 '(utf-8 undecided us-ascii prefer-utf-8 utf-8-emacs)))))

(defun eca-context-place-text (file modified)
  "Return the text of FILE, all of the current buffer's, as it is handed over.
MODIFIED is non-nil if it is not saved."
  (save-restriction
    (widen)
    (vector file (buffer-substring-no-properties (point-min) (point-max)) (and modified t))))

(defun eca-context-place-note-opaque (file)
  "Note the text of FILE if its bytes on disk are none, as those of an archive.
What cannot be read is left to others to find out."
  (when (and (find-file-name-handler file 'insert-file-contents)
             (not (file-remote-p file)))
    (condition-case nil
        (eca-context-place-in file #'ignore)
      (error nil))))

(defun eca-context-place-symbol (name limit)
  "Return the bounds of the next whole symbol NAME before LIMIT, a cons, or nil.
What is whole is a matter of the syntax in force."
  (save-excursion
    (let ((beg (eca-context-position-next-symbol name limit)))
      (and beg (cons beg (point))))))

(defun eca-context-place-vector (file name bounds)
  "Return the place of NAME in FILE, whose text is here, at BOUNDS, a cons."
  (let ((range (eca-context-position-range (car bounds) (cdr bounds))))
    (vector file (aref range 0) (aref range 1) (aref range 2) (aref range 3) name)))

(provide 'eca-context-place)
;;; eca-context-place.el ends here
