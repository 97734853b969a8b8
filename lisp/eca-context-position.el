;;; eca-context-position.el --- Positions of the protocol and of buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The one place where buffer positions and Positions meet.  Lines and characters count from 0,
;; characters in UTF-16 units; narrowing, display and a BOM never matter.

;;; Code:

(require 'cl-lib)
(eval-when-compile (require 'subr-x))

;; A line ends at a newline and nowhere else.  No CR is a character of it, so it does not matter whether
;; Emacs took CRs away when it decoded the file (CRLF, or CRs alone, in all of it) or left them (both).
(defun eca-context-position--units (beg end)
  "Return the UTF-16 units between BEG and END on one line.
A BOM at the start of the buffer and CRs count nothing."
  (let ((n-chars (- end beg)))
    (if (and (= n-chars (- (position-bytes end) (position-bytes beg)))
             (not (string-search "\r" (buffer-substring-no-properties beg end))))
        n-chars
      (- (+ n-chars (eca-context-position--excess beg end))
         (if (and (= beg (point-min)) (eq (char-after beg) #xfeff)) 1 0)))))

(defun eca-context-position--excess (beg end)
  "Return how many units more than characters lie between BEG and END.
What counts two or nothing comes in runs; many runs are counted otherwise."
  (let ((excess 0)
        (n-runs 0))
    (save-excursion
      (goto-char beg)
      (while (progn
               ;; Where all is ASCII, that range would be read character by character: 0.7 ms.
               (skip-chars-forward
                (if (= (- end (point)) (- (position-bytes end) (position-bytes (point))))
                    "^\r"
                  "^\r\U00010000-\U0010ffff")
                end)
               (< (point) end))
        (let ((from (point)))
          (setq excess (cond ((> (setq n-runs (1+ n-runs)) 8)
                              (goto-char end)
                              (- (+ excess (eca-context-position-units-of
                                            (buffer-substring-no-properties from end)))
                                 (- end from)))
                             ((zerop (skip-chars-forward "\r" end))
                              (+ excess (skip-chars-forward "\U00010000-\U0010ffff" end)))
                             (t (- excess (- (point) from))))))))
    excess))

(defun eca-context-position-units-of (string)
  "Return how many UTF-16 units STRING takes, its CRs none."
  (let ((last-coding-system-used nil))
    ;; All in C, however characters alternate.  What Unicode has not becomes U+FFFD.
    (- (if (= (length string) (string-bytes string))
           (length string)
         (/ (length (encode-coding-string string 'utf-16le-unix t)) 2))
       (- (length string) (length (delete ?\r string))))))

(defun eca-context-position--forward (units end)
  "Go forward by at most UNITS on one line, not beyond END."
  (let ((step (max 64 units))
        beyond)
    ;; By as many characters as UNITS, for those there must be, but for CRs; then halve what is too far.
    (while (and (> units 0) (< (point) end) (not (eql beyond (1+ (point)))))
      (let* ((to (if beyond (/ (+ (point) beyond) 2) (min end (+ (point) step))))
             (n-units (eca-context-position--units (point) to)))
        (if (> n-units units)
            (setq beyond to)
          (goto-char to)
          (setq units (- units n-units)
                step (* 2 step)))))
    (when (zerop units)
      (skip-chars-forward "\r" end))))

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
        (let ((bol (point))
              (inhibit-field-text-motion t))
          (eca-context-position--forward character (save-excursion
                                                     (end-of-line)
                                                     (skip-chars-backward "\r" bol)
                                                     (point)))
          (point))))))

(defun eca-context-position-find-symbol (line symbol occurrence)
  "Find the whole SYMBOL on LINE, for the OCCURRENCE-th time.
Return (POS . N), N being how often it stands there; POS is nil when it does
not stand there so often.  Return nil when there is no such line."
  (let ((bol (eca-context-position-to-point line 0))
        (n 0)
        beg found)
    (when bol
      (save-excursion
        (save-restriction
          (widen)
          (goto-char bol)
          (let* ((inhibit-field-text-motion t)
                 (eol (line-end-position)))
            (while (setq beg (eca-context-position-next-symbol symbol eol))
              (setq n (1+ n))
              (when (= n occurrence)
                (setq found beg))
              (goto-char (1+ beg))))))
      (cons found n))))

(defun eca-context-position-next-symbol (symbol limit)
  "Go behind the next whole SYMBOL before LIMIT, or nil, and return its start.
What is whole is a matter of the syntax in force; nil if there is none."
  (let ((case-fold-search nil)
        (found nil))
    (while (and (not found) (not (string-empty-p symbol)) (search-forward symbol limit t))
      (let ((beg (- (point) (length symbol))))
        (if (eca-context-position-whole-p beg (point))
            (setq found beg)
          (goto-char (1+ beg)))))
    found))

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
