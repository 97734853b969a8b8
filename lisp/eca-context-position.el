;;; eca-context-position.el --- Positions of the protocol and of buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The one place where buffer positions and Positions meet.  Lines and characters count from 0,
;; characters in UTF-16 units; narrowing, display and a BOM never matter.

;;; Code:

(require 'cl-lib)
(eval-when-compile (require 'subr-x))

;; Only what lies outside the basic plane takes two units.  Raw bytes and code points that only Emacs
;; has lie above U+10FFFF; they reach the reader as U+FFFD, one unit.
(defun eca-context-position--to-wide (end)
  "Go to the next character of two units before END, else to END."
  ;; Not by `skip-chars-forward': it takes 0.7 ms to read so large a range.
  (cond ((= (- end (point)) (- (position-bytes end) (position-bytes (point))))
         (goto-char end))
        ((< (- end (point)) 200)
         (while (and (< (point) end) (not (<= #x10000 (following-char) #x10ffff)))
           (forward-char)))
        ((let ((case-fold-search nil))
           (re-search-forward "[\U00010000-\U0010ffff]" end 'move))
         (backward-char))))

(defun eca-context-position--units (beg end)
  "Return the UTF-16 units between BEG and END on one line.
A BOM at the start of the buffer and a CR at the line's end count nothing."
  (let ((units (- end beg)))
    (unless (= units (- (position-bytes end) (position-bytes beg)))
      (save-excursion
        (goto-char beg)
        (skip-chars-forward "\0-\177" end)
        (while (progn (eca-context-position--to-wide end) (< (point) end))
          (setq units (1+ units))
          (forward-char))))
    (when (and (= beg (point-min)) (< beg end) (eq (char-after beg) #xfeff))
      (setq units (1- units)))
    (if (and (> end beg) (eq (char-before end) ?\r) (memq (char-after end) '(nil ?\n)))
        (1- units)
      units)))

(defun eca-context-position-units-of (string)
  "Return how many UTF-16 units STRING takes."
  (let ((units (length string)))
    (unless (= units (string-bytes string))
      (mapc (lambda (char)
              (when (<= #x10000 char #x10ffff)
                (setq units (1+ units))))
            string))
    units))

(defun eca-context-position--n-newlines (beg end)
  "Return how many lines lie between BEG and END, both the start of one."
  (if (= beg end)
      0
    (save-restriction
      (narrow-to-region beg end)
      (goto-char beg)
      (- end beg (forward-line (- end beg))))))

(defun eca-context-position-sweep (positions)
  "Return the lines and characters of POSITIONS, a list of integers or nil.
The value is a list of conses (LINE . CHARACTER) or nil, in the order given;
one ascending pass over the buffer, whatever the number of positions and the
length of its lines."
  (save-excursion
    (save-restriction
      (widen)
      (let* ((inhibit-field-text-motion t)
             ;; The cache is for one who comes back to long lines; here it only costs.
             (cache-long-scans nil)
             (table (make-hash-table))
             (sorted (sort (delete-dups (delq nil (copy-sequence positions))) #'<))
             (line 0)
             (units 0)
             (from (point-min))
             (eol (progn (goto-char from) (line-end-position))))
        (dolist (pos sorted)
          (let ((at (max (point-min) (min pos (point-max)))))
            (when (< eol at)
              (goto-char at)
              (setq from (line-beginning-position)
                    units 0
                    line (+ line 1 (eca-context-position--n-newlines (1+ eol) from))
                    eol (line-end-position)))
            ;; A CR that ends the line counts nothing; it is never left behind, for its end is next.
            (setq units (+ units (eca-context-position--units from at)) from at)
            (puthash pos (cons line units) table)))
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
        (let* ((inhibit-field-text-motion t)
               (left character)
               (eol (line-end-position)))
          (when (and (> eol (point)) (eq (char-before eol) ?\r))
            (setq eol (1- eol)))
          (while (and (> left 0) (< (point) eol))
            ;; As far as one unit a character goes, then the wide one, if it fits.
            (let ((from (point)))
              (eca-context-position--to-wide (min eol (+ from left)))
              (setq left (- left (- (point) from))))
            (when (and (> left 0) (< (point) eol))
              (setq left (- left 2))
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
          (let* ((inhibit-field-text-motion t)
                 (eol (line-end-position)))
            (while (and (not (string-empty-p symbol)) (search-forward symbol eol t))
              (let ((beg (- (point) (length symbol))))
                (when (eca-context-position-whole-p beg (point))
                  (setq n (1+ n))
                  (when (= n occurrence)
                    (setq found beg)))
                (goto-char (1+ beg)))))))
      (cons found n))))

(defun eca-context-position-whole-p (beg end)
  "Return non-nil if BEG and END are where a symbol begins and ends."
  (let ((inside (lambda (char) (and char (memq (char-syntax char) '(?w ?_))))))
    (not (or (and (funcall inside (char-after beg)) (funcall inside (char-before beg)))
             (and (funcall inside (char-before end)) (funcall inside (char-after end)))))))

;;;; How servers count

(defun eca-context-position-encoded (encoding pos)
  "Return (LINE . CHARACTER) of POS with characters counted in ENCODING.
That is \"utf-16\", \"utf-8\" or \"utf-32\", as a language server counts."
  (let ((at (car (eca-context-position-sweep (list pos))))
        (bol (save-excursion
               (goto-char pos)
               (let ((inhibit-field-text-motion t))
                 (line-beginning-position)))))
    (cons (car at)
          (pcase encoding
            ("utf-8" (- (position-bytes pos) (position-bytes bol)))
            ("utf-32" (- pos bol))
            (_ (cdr at))))))

(defun eca-context-position-decoded (encoding places)
  "Return PLACES in the current buffer, counted in ENCODING, in UTF-16 units.
These are conses (LINE . CHARACTER).  What lies beyond a line's end or the last
line does so still."
  (let ((table (make-hash-table :test #'equal))
        (line 0)
        positions)
    (save-excursion
      (goto-char (point-min))
      ;; In order of lines, so the buffer is gone through once.
      (dolist (place (sort (copy-sequence places) (lambda (a b) (< (car a) (car b)))))
        (unless (gethash place table)
          (when (and (zerop (forward-line (- (car place) line))) (bolp))
            (setq line (car place))
            (puthash place (eca-context-position--at encoding (cdr place)) table)))))
    (maphash (lambda (_ at) (push (car at) positions)) table)
    (let ((swept (make-hash-table)))
      (cl-mapc (lambda (position place) (puthash position place swept))
               positions (eca-context-position-sweep positions))
      (mapcar (lambda (place)
                (let* ((at (gethash place table))
                       (to (and at (gethash (car at) swept))))
                  (if to (cons (car to) (+ (cdr to) (cdr at))) place)))
              places))))

(defun eca-context-position--at (encoding units)
  "Return (POSITION . EXCESS) for UNITS of ENCODING on the line at point.
EXCESS is how many units lie beyond the line's end."
  (let* ((inhibit-field-text-motion t)
         (line (buffer-substring-no-properties (point) (line-end-position)))
         (length (if (equal encoding "utf-8") (string-bytes line) (length line))))
    (cond ((> units length) (cons (line-end-position) (- units length)))
          ((= (length line) length) (cons (+ (point) units) 0))
          (t (let ((n-chars 0))
               (while (> units 0)
                 (setq units (- units (string-bytes (char-to-string (aref line n-chars))))
                       n-chars (1+ n-chars)))
               (cons (+ (point) n-chars) 0))))))

(provide 'eca-context-position)
;;; eca-context-position.el ends here
