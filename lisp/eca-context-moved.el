;;; eca-context-moved.el --- Where what was said of an older text is now  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Emacs' own comparison of two texts carries markers from the older one to the newer one.  It knows no
;; provider.

;;; Code:

(require 'seq)
(require 'eca-context-position)

(defconst eca-context-moved--max-size 1000000
  "Texts of more characters are neither kept nor compared.")

(defconst eca-context-moved--seconds 0.1
  "How long two texts are compared at most.")

(defun eca-context-moved-text ()
  "Return the text of the current buffer, to be compared with its later ones.
Return nil if it is too long."
  (save-restriction
    (widen)
    (when (< (buffer-size) eca-context-moved--max-size)
      (buffer-substring-no-properties (point-min) (point-max)))))

(defun eca-context-moved (items text)
  "Return ITEMS, diagnostics of TEXT, with their places in the current buffer.
TEXT is what `eca-context-moved-text' returned for an earlier text; if it is nil
the places stay.  An item whose text was deleted is left out."
  (if (null text)
      items
    (let ((here (current-buffer)))
      (save-restriction
        (widen)
        (with-temp-buffer
          (buffer-disable-undo)
          (insert text)
          (let ((markers (mapcar #'eca-context-moved--markers items)))
            (replace-buffer-contents here eca-context-moved--seconds)
            (eca-context-moved--items items markers)))))))

(defun eca-context-moved--markers (item)
  "Return (BEG END IS-LONG), markers around ITEM in the current buffer."
  (let* ((range (aref item 4))
         (beg (or (eca-context-position-to-point (aref range 0) (aref range 1)) (point-max)))
         (end (or (eca-context-position-to-point (aref range 2) (aref range 3)) (point-max))))
    ;; What is inserted before it is none of it.
    (list (copy-marker beg t) (copy-marker end) (< beg end))))

(defun eca-context-moved--items (items markers)
  "Return ITEMS at MARKERS, which `eca-context-moved--markers' has made."
  (let (kept positions)
    (while items
      (pcase-let ((item (pop items))
                  (`(,beg ,end ,is-long) (pop markers)))
        (unless (and is-long (>= beg end))
          (push item kept)
          (setq positions (cons (marker-position end) (cons (marker-position beg) positions))))))
    (let ((places (eca-context-position-sweep (nreverse positions))))
      (mapcar (lambda (item)
                (let ((beg (pop places))
                      (end (pop places))
                      (item (copy-sequence item)))
                  (aset item 4 (vector (car beg) (cdr beg) (car end) (cdr end)))
                  item))
              (nreverse kept)))))

(provide 'eca-context-moved)
;;; eca-context-moved.el ends here
