;;; eca-context-position.el --- Positions of the protocol and of buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The one place where buffer positions and Positions meet.  Lines and characters count from 0,
;; characters in UTF-16 units; narrowing, display and a BOM never matter.

;;; Code:

(defun eca-context-position--units (beg end)
  "Return the UTF-16 units between BEG and END on one line."
  (let ((units 0))
    (save-excursion
      (goto-char beg)
      (while (< (point) end)
        (setq units (+ units (if (> (char-after) #xffff) 2 1)))
        (forward-char)))
    (when (and (= beg (point-min)) (< beg end) (eq (char-after beg) #xfeff))
      (setq units (1- units)))
    (if (and (> end beg) (eq (char-before end) ?\r) (or (= end (point-max)) (eq (char-after end) ?\n)))
        (1- units)
      units)))

(defun eca-context-position-sweep (positions)
  "Return the lines and characters of POSITIONS, a list of integers or nil.
The value is a list of conses (LINE . CHARACTER) or nil, in the order given;
one ascending pass over the buffer, whatever the number of positions."
  (save-excursion
    (save-restriction
      (widen)
      (let* ((table (make-hash-table))
             (sorted (sort (delete-dups (delq nil (copy-sequence positions))) #'<))
             (line 0)
             (bol (point-min)))
        (goto-char bol)
        (dolist (pos sorted)
          (let ((at (max (point-min) (min pos (point-max)))))
            (goto-char bol)
            (while (let ((eol (line-end-position)))
                     (and (< eol at) (< eol (point-max))))
              (forward-line 1)
              (setq line (1+ line) bol (point)))
            (puthash pos (cons line (eca-context-position--units bol at)) table)))
        (mapcar (lambda (pos) (and pos (gethash pos table))) positions)))))

(defun eca-context-position-range (beg end)
  "Return the range from BEG to END as four integers in a vector."
  (pcase-let ((`((,sl . ,sc) (,el . ,ec)) (eca-context-position-sweep (list beg end))))
    (vector sl sc el ec)))

(defun eca-context-position-n-lines ()
  "Return how many lines the buffer has, an empty last one included."
  (save-restriction
    (widen)
    (save-excursion
      (goto-char (point-max))
      (line-number-at-pos nil t))))

(defun eca-context-position-to-point (line character)
  "Return the buffer position of LINE and CHARACTER; nil: no such line.
A CHARACTER past the end means the end; within a surrogate pair, its start."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (when (and (zerop (forward-line line)) (or (zerop line) (bolp)))
        (when (and (bobp) (eq (char-after) #xfeff))
          (forward-char))
        (let ((left character)
              (eol (line-end-position)))
          (when (and (> eol (point)) (eq (char-before eol) ?\r))
            (setq eol (1- eol)))
          (while (and (> left 0) (< (point) eol))
            (let ((units (if (> (char-after) #xffff) 2 1)))
              (setq left (- left units))
              (when (>= left 0)
                (forward-char))))
          (point))))))

(defun eca-context-position-find-symbol (line symbol occurrence)
  "Find the whole SYMBOL on LINE, for the OCCURRENCE-th time.
Return (POS . N), N being how often it stands there; POS is nil when it does
not stand there so often.  Return nil when there is no such line."
  (let ((bol (eca-context-position-to-point line 0))
        (case-fold-search nil)
        (n 0)
        found)
    (when bol
      (save-excursion
        (save-restriction
          (widen)
          (goto-char bol)
          (let ((eol (line-end-position))
                (regexp (concat "\\(?:\\_<\\|\\=\\)?\\(" (regexp-quote symbol) "\\)")))
            (while (re-search-forward regexp eol t)
              (let ((beg (match-beginning 1)) (end (match-end 1)))
                (when (eca-context-position--whole-p beg end)
                  (setq n (1+ n))
                  (when (= n occurrence)
                    (setq found beg)))
                (goto-char (1+ beg)))))))
      (cons found n))))

(defun eca-context-position--whole-p (beg end)
  "Return non-nil if BEG and END are where a symbol begins and ends."
  (let ((inside (lambda (char) (and char (memq (char-syntax char) '(?w ?_))))))
    (not (or (and (funcall inside (char-after beg)) (funcall inside (char-before beg)))
             (and (funcall inside (char-before end)) (funcall inside (char-after end)))))))

(provide 'eca-context-position)
;;; eca-context-position.el ends here
