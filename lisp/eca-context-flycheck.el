;;; eca-context-flycheck.el --- The diagnostics that flycheck holds  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What flycheck holds now.  Its errors say lines and columns of the text that was checked, from 1, a
;; column being a character; its overlays say how far a line has moved since.
;; flycheck is a foreign package: nothing of it is needed until a buffer uses it.

;;; Code:

(require 'seq)
(require 'eca-context)
(require 'eca-context-job)
(require 'eca-context-position)

(declare-function flycheck-buffer "ext:flycheck" () t)
(declare-function flycheck-checker-get "ext:flycheck" (checker property) t)
(declare-function flycheck-error-filename "ext:flycheck" (err) t)
(declare-function flycheck-error-line "ext:flycheck" (err) t)
(declare-function flycheck-error-column "ext:flycheck" (err) t)
(declare-function flycheck-error-end-line "ext:flycheck" (err) t)
(declare-function flycheck-error-end-column "ext:flycheck" (err) t)
(declare-function flycheck-error-level "ext:flycheck" (err) t)
(declare-function flycheck-error-checker "ext:flycheck" (err) t)
(declare-function flycheck-error-message "ext:flycheck" (err) t)
(declare-function flycheck-error-id "ext:flycheck" (err) t)

(defvar flycheck-checker)
(defvar flycheck-current-errors)
(defvar flycheck-last-status-change)
(defvar flycheck-check-syntax-automatically)

(defcustom eca-context-flycheck-columns
  '((c/c++-gcc . byte) (c/c++-clang . byte) (sh-shellcheck . display)
    (go-gofmt . byte) (go-build . byte) (go-vet . byte) (go-test . byte) (go-staticcheck . byte)
    (rust . character) (rust-cargo . character) (rust-clippy . character)
    (javascript-eslint . utf-16) (typescript-tslint . utf-16))
  "What the columns of flycheck's checkers count.
An alist of a checker and `character', `byte' (of UTF-8), `utf-16' (units) or
`display' (columns on a terminal, tab stops 8 apart).  A checker that is not
named counts characters, as flycheck itself takes for granted."
  :type '(alist :key-type symbol
                :value-type (choice (const character) (const byte) (const utf-16) (const display)))
  :group 'eca-context)

(defvar eca-context-flycheck--checked (make-hash-table :test #'eq :weakness 'key)
  "Buffers and the character tick at which the latest check of each began.")

(defun eca-context-flycheck-watch ()
  "Note from now on of which text each check is."
  (add-hook 'flycheck-status-changed-functions #'eca-context-flycheck--note))

(defun eca-context-flycheck-unwatch ()
  "Note no more of which text each check is."
  (remove-hook 'flycheck-status-changed-functions #'eca-context-flycheck--note))

(defun eca-context-flycheck--note (status)
  "Note the text of the current buffer if by STATUS a check begins."
  (when (eq status 'running)
    (puthash (current-buffer) (buffer-chars-modified-tick) eca-context-flycheck--checked)))

(defun eca-context-flycheck-diagnostics (request callback)
  "Return flycheck's view of the current buffer, an outcome, or nil.
REQUEST is a plist: `:path' of the file, `:deadline', a `float-time', and
`:everywhere' if errors in other files are wanted, too.  While the present text
is being checked, return `:async' and call CALLBACK when that is over, or at the
deadline.  A check that flycheck would start sooner or later is started now."
  (when (and (bound-and-true-p flycheck-mode)
             (boundp 'flycheck-current-errors)
             (fboundp 'flycheck-error-line)
             (not (and (eca-context-flycheck--told-p flycheck-checker)
                       (null (flycheck-checker-get flycheck-checker 'next-checkers)))))
    (if (or (null (plist-get request :deadline)) (eca-context-flycheck--go-on))
        (eca-context-flycheck--verdict request)
      (let ((buffer (current-buffer)))
        (eca-context-job-await
         (plist-get request :deadline) #'eca-context-flycheck--go-on
         (lambda (_)
           (funcall callback
                    (and (buffer-live-p buffer)
                         (with-current-buffer buffer
                           (eca-context-flycheck--verdict request))))))))))

(defun eca-context-flycheck--go-on ()
  "Return non-nil if there is nothing to wait for; see that a check is under way."
  (let ((tick (gethash (current-buffer) eca-context-flycheck--checked)))
    (cond
     ((eq flycheck-last-status-change 'running) nil)
     ((memq flycheck-last-status-change '(no-checker suspicious)))
     ((and (memq flycheck-last-status-change '(finished errored))
           (memql tick (list nil (buffer-chars-modified-tick)))))
     ((seq-intersection flycheck-check-syntax-automatically '(idle-change mode-enabled))
      (puthash (current-buffer) (buffer-chars-modified-tick) eca-context-flycheck--checked)
      (flycheck-buffer)
      nil)
     (t))))

(defun eca-context-flycheck--fresh ()
  "Return t if the finished check was of the present text, else `:json-false'.
Nil if that cannot be known."
  (let ((tick (gethash (current-buffer) eca-context-flycheck--checked)))
    (cond ((not (eq flycheck-last-status-change 'finished)) :json-false)
          ((null tick) nil)
          ((eql tick (buffer-chars-modified-tick)) t)
          (t :json-false))))

(defun eca-context-flycheck--verdict (request)
  "Return an outcome with what is held now, for REQUEST."
  (pcase flycheck-last-status-change
    ('no-checker
     (list :provider "flycheck" :kind "unknown" :status "no-provider"
           :reason "flycheck has no checker for this buffer"))
    ((and 'errored (guard (null flycheck-current-errors)))
     (list :provider "flycheck" :kind "unknown" :status "error"
           :reason "flycheck's checker failed"))
    (_
     (save-restriction
       (widen)
       (list :provider "flycheck" :kind "unknown" :status "ok"
             :fresh (eca-context-flycheck--fresh) :exact t
             :items (eca-context-flycheck--items request))))))

(put 'eca-context-flycheck-diagnostics 'eca-context-needs 'flycheck-mode)

(defun eca-context-flycheck--items (request)
  "Return flycheck's errors of the current buffer as items, by REQUEST."
  (let ((path (plist-get request :path))
        (moves (eca-context-flycheck--moves))
        own others)
    (dolist (err (seq-remove (lambda (err)
                               (eca-context-flycheck--told-p (flycheck-error-checker err)))
                             (eca-context-flycheck--errors)))
      (let ((file (flycheck-error-filename err)))
        (cond
         ((or (null file) (eca-context-flycheck--same-p (expand-file-name file) path))
          (push (cons err (eca-context-flycheck--bounds err (or (gethash err moves) 0))) own))
         ((plist-get request :everywhere)
          (push (eca-context-flycheck--elsewhere err (expand-file-name file)) others)))))
    (let* ((own (nreverse own))
           (places (eca-context-position-sweep
                    (mapcan (lambda (one) (list (cadr one) (cddr one))) own))))
      (append (mapcar (lambda (one)
                        (let ((beg (pop places))
                              (end (pop places)))
                          (eca-context-flycheck--item (car one) path beg end)))
                      own)
              (nreverse others)))))

(defun eca-context-flycheck--errors ()
  "Return flycheck's errors; during a check, those that are still shown."
  (if (or flycheck-current-errors (not (eq flycheck-last-status-change 'running)))
      flycheck-current-errors
    (sort (delq nil (mapcar (lambda (overlay) (overlay-get overlay 'flycheck-error))
                            (overlays-in (point-min) (point-max))))
          (lambda (a b) (< (or (flycheck-error-line a) 0) (or (flycheck-error-line b) 0))))))

(defun eca-context-flycheck--told-p (checker)
  "Return non-nil if it is for another provider to report for CHECKER here.
Which one that is stands in its property `eca-context-told-by'."
  (let ((predicate (and checker (symbolp checker) (get checker 'eca-context-told-by))))
    (and predicate (funcall predicate))))

(defun eca-context-flycheck-shown (checker)
  "Return what CHECKER is shown to have found in the buffer, where it is now.
The value is a list of (MESSAGE BEG . END)."
  (let (shown)
    (dolist (overlay (and (fboundp 'flycheck-error-checker) (overlays-in (point-min) (point-max))))
      (let ((err (overlay-get overlay 'flycheck-error)))
        (when (and err (eq (flycheck-error-checker err) checker))
          (push (cons (flycheck-error-message err)
                      (cons (overlay-start overlay) (overlay-end overlay)))
                shown))))
    shown))

(defun eca-context-flycheck--same-p (file path)
  "Return non-nil if FILE is PATH, the file of the current buffer."
  (or (equal file path)
      (equal file buffer-file-name)
      (and path (equal (file-truename file) (file-truename path)))))

(defun eca-context-flycheck--moves ()
  "Return by how many lines each error has moved since the check, a hash table."
  (let ((moves (make-hash-table :test #'eq))
        marked)
    (dolist (overlay (overlays-in (point-min) (point-max)))
      (let ((err (overlay-get overlay 'flycheck-error)))
        (when (and err (flycheck-error-line err))
          (push (cons err (overlay-start overlay)) marked))))
    (let ((places (eca-context-position-sweep (mapcar #'cdr marked)))
          (n-lines (eca-context-position-n-lines)))
      (dolist (one marked)
        (let ((line (car (pop places)))
              (reported (1- (flycheck-error-line (car one)))))
          ;; What was beyond the end from the start flycheck marks on the first line.
          (unless (and (zerop line) (>= reported n-lines))
            (puthash (car one) (- line reported) moves)))))
    moves))

(defun eca-context-flycheck--bounds (err n-lines)
  "Return (BEG . END) of ERR, which has moved down by N-LINES.
Without a column it is the text of the line, without an end the symbol."
  (let* ((line (max 0 (+ (1- (or (flycheck-error-line err) 1)) n-lines)))
         (column (flycheck-error-column err))
         (beg (eca-context-flycheck--point err line column))
         (end-line (flycheck-error-end-line err))
         (end-column (flycheck-error-end-column err)))
    (save-excursion
      (goto-char beg)
      (cons (if column beg (progn (back-to-indentation) (point)))
            (max beg
                 (cond
                  ((and column end-column)
                   (eca-context-flycheck--point err (max 0 (+ (1- (or end-line (flycheck-error-line err)
                                                                  1))
                                                          n-lines))
                                                end-column))
                  ((null column) (line-end-position))
                  ((> (skip-syntax-forward "w_" (line-end-position)) 0) (point))
                  (t (min (1+ beg) (line-end-position)))))))))

(defun eca-context-flycheck--point (err line column)
  "Return the buffer position of LINE, from 0, and COLUMN of ERR, from 1 or nil.
What a column is depends on the checker, see `eca-context-flycheck-columns'."
  (let* ((bol (or (eca-context-position-to-point line 0) (point-max)))
         (eol (save-excursion (goto-char bol) (line-end-position)))
         (n-units (max 0 (1- (or column 1))))
         (units (pcase (alist-get (flycheck-error-checker err) eca-context-flycheck-columns)
                  ('byte #'eca-context-flycheck--n-bytes)
                  ('display #'eca-context-flycheck--n-columns)
                  ('utf-16 (lambda (char _) (if (<= #x10000 char #x10ffff) 2 1))))))
    (if (not units)
        (min (+ bol n-units) eol)
      (let ((at 0))
        (save-excursion
          (goto-char bol)
          (while (and (< at n-units) (< (point) eol))
            (setq at (+ at (funcall units (char-after) at)))
            (forward-char))
          (point))))))

(defun eca-context-flycheck--n-bytes (char _at)
  "Return how many bytes CHAR has in UTF-8."
  (cond ((< char #x80) 1) ((< char #x800) 2) ((< char #x10000) 3) ((< char #x110000) 4) (t 1)))

(defun eca-context-flycheck--n-columns (char at)
  "Return how many columns CHAR takes from the column AT, tab stops being 8 apart."
  (if (eq char ?\t) (- 8 (% at 8)) (char-width char)))

(defun eca-context-flycheck--elsewhere (err file)
  "Return ERR as an item of FILE, which is not the current buffer's.
Places are counted in the buffer that visits FILE, else taken as reported."
  (let ((buffer (find-buffer-visiting file)))
    (if buffer
        (with-current-buffer buffer
          (save-restriction
            (widen)
            (pcase-let* ((`(,beg . ,end) (eca-context-flycheck--bounds err 0))
                         (`(,from ,to) (eca-context-position-sweep (list beg end))))
              (eca-context-flycheck--item err file from to))))
      (let* ((line (max 0 (1- (or (flycheck-error-line err) 1))))
             (from (cons line (max 0 (1- (or (flycheck-error-column err) 1)))))
             (end-column (flycheck-error-end-column err))
             (to (if end-column
                     (cons (max 0 (1- (or (flycheck-error-end-line err) (1+ line))))
                           (max 0 (1- end-column)))
                   from)))
        (eca-context-flycheck--item err file from to)))))

(defun eca-context-flycheck--item (err path beg end)
  "Return ERR of PATH as an item; BEG and END are conses (LINE . CHARACTER)."
  (vector path
          (eca-context-flycheck--severity (flycheck-error-level err))
          (and (flycheck-error-checker err) (format "%s" (flycheck-error-checker err)))
          (and (flycheck-error-id err) (format "%s" (flycheck-error-id err)))
          (vector (car beg) (cdr beg) (car end) (cdr end))
          (or (flycheck-error-message err) "")))

(defun eca-context-flycheck--severity (level)
  "Return the word of severity for flycheck's LEVEL; what is unknown is an error."
  (let ((severity (get level 'flycheck-error-severity)))
    (cond ((eq level 'error) "error")
          ((eq level 'warning) "warning")
          ((eq level 'info) "info")
          ((not (numberp severity)) "error")
          ((>= severity 100) "error")
          ((>= severity 10) "warning")
          (t "info"))))

(provide 'eca-context-flycheck)
;;; eca-context-flycheck.el ends here
