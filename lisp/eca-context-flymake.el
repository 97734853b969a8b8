;;; eca-context-flymake.el --- The diagnostics that flymake holds  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What flymake holds now, as positions in the present text: its overlays move with the text; a
;; diagnostic without extent has none (an empty overlay evaporates) and is found in its backend's
;; state.  A check of the present text is waited for.

;;; Code:

(require 'flymake)
(require 'seq)
(require 'eca-context-job)
(require 'eca-context-position)

(declare-function flymake-diagnostic-code "ext:flymake" (diag) t)

(defconst eca-context-flymake--silent-backends '(eglot-flymake-backend)
  "Backends that report what they held before; they say nothing about freshness.")

(defun eca-context-flymake-diagnostics (request callback)
  "Return flymake's view of the current buffer, an outcome, or nil.
REQUEST is a plist: `:path' of the file, `:deadline', a `float-time', and
`:everywhere' if what is known about files other than this one is wanted, too.
While a checker has not spoken about the present text, return `:async' and call
CALLBACK when all have, or at the deadline.  A check that flymake would start
sooner or later is started now.  Where flymake is off only what it lists about
the file, if anything, is returned, as not fresh."
  (let ((path (plist-get request :path)))
    (if (not (bound-and-true-p flymake-mode))
        (when-let ((listed (eca-context-flymake--listed path)))
          (eca-context-flymake--outcome :json-false (eca-context-flymake--items listed path)))
      (if (or (null (plist-get request :deadline)) (eca-context-flymake--go-on))
          (eca-context-flymake--verdict request)
        (let ((buffer (current-buffer)))
          (eca-context-job-await
           (plist-get request :deadline) #'eca-context-flymake--go-on
           (lambda (_)
             (funcall callback
                      (and (buffer-live-p buffer)
                           (with-current-buffer buffer
                             (eca-context-flymake--verdict request)))))))))))

(defun eca-context-flymake--verdict (request)
  "Return an outcome with what is held now, for REQUEST."
  (let ((path (plist-get request :path)))
    (unless (eca-context-flymake--all-told-p)
      (or (eca-context-flymake--trouble)
          (save-restriction
            (widen)
            (eca-context-flymake--outcome
             (eca-context-flymake--fresh)
             (append (eca-context-flymake--items (eca-context-flymake--held) path)
                     (and (plist-get request :everywhere)
                          (eca-context-flymake--foreign path)))))))))

(defun eca-context-flymake--go-on ()
  "Return non-nil if there is nothing to wait for; see that a check is under way."
  (cond
   ((null (eca-context-flymake--backends)))
   ((eca-context-flymake--all-told-p))
   ((not (eq (eca-context-flymake--fresh) :json-false)))
   ((eca-context-flymake--pending) nil)
   ((and (flymake-disabled-backends) (null (eca-context-flymake--started))))
   ;; flymake checks when the user pauses, or, if that is switched off, when the file is saved.
   ((or flymake-no-changes-timeout (null (eca-context-flymake--started)))
    (flymake-start)
    nil)
   (t)))

(defun eca-context-flymake--pending ()
  "Return the checkers that are at work."
  (seq-difference (seq-difference (eca-context-flymake--running) (flymake-reporting-backends))
                  eca-context-flymake--silent-backends))

;; A problem through two channels is one: who knows it first hand names in the property
;; `eca-context-told-by' of the checker a predicate that says whether it tells it in this buffer.
(defun eca-context-flymake--told-p (backend)
  "Return non-nil if it is for another provider to report for BACKEND here."
  (let ((predicate (and backend (symbolp backend) (get backend 'eca-context-told-by))))
    (and predicate (funcall predicate))))

;; flymake goes on counting as running, and showing, a checker that has left its hook: that of a language
;; server that died, for one.
(defun eca-context-flymake--backends ()
  "Return the checkers that flymake would start."
  (eca-context-job-functions 'flymake-diagnostic-functions (current-buffer)))

(defun eca-context-flymake--started ()
  "Return the checkers that flymake has started and would start again."
  (seq-intersection (flymake-running-backends) (eca-context-flymake--backends)))

(defun eca-context-flymake--running ()
  "Return the running checkers, but not those for which others report."
  (seq-remove #'eca-context-flymake--told-p (eca-context-flymake--started)))

(defun eca-context-flymake--all-told-p ()
  "Return non-nil if it is for other providers to report for all checkers here."
  (let ((backends (or (eca-context-flymake--started) (eca-context-flymake--backends))))
    (and backends (seq-every-p #'eca-context-flymake--told-p backends))))

(put 'eca-context-flymake-diagnostics 'eca-context-needs 'flymake-mode)

(defun eca-context-flymake--outcome (fresh items)
  "Return an outcome with ITEMS; FRESH is t, `:json-false' or nil."
  (list :provider "flymake" :kind "unknown" :status "ok" :fresh fresh :exact t :items items))

(defun eca-context-flymake--trouble ()
  "Return an outcome telling why flymake cannot check this buffer, or nil."
  (cond
   ((eca-context-flymake--started) nil)
   ((flymake-disabled-backends)
    (list :provider "flymake" :kind "unknown" :status "error"
          :reason (format "flymake gave up on its checkers: %s"
                          (mapconcat (lambda (backend) (format "%s" backend))
                                     (flymake-disabled-backends) ", "))))
   ((null (eca-context-flymake--backends))
    (list :provider "flymake" :kind "unknown" :status "no-provider"
          :reason "flymake has no checker for this buffer"))))

(defun eca-context-flymake--fresh ()
  "Return t if all checkers have spoken about the present text, else `:json-false'.
Nil if that cannot be known."
  (let ((running (eca-context-flymake--running)))
    (cond
     ((or (null running)
          (eca-context-flymake--pending)
          (bound-and-true-p flymake--recent-changes))
      :json-false)
     ((seq-intersection running eca-context-flymake--silent-backends) nil)
     (t t))))

;;;; Finding

(defun eca-context-flymake--held ()
  "Return flymake's diagnostics of the buffer, conses (DIAGNOSTIC BEG . END)."
  (let (found)
    (dolist (overlay (overlays-in (point-min) (point-max)))
      (when-let ((diagnostic (overlay-get overlay 'flymake-diagnostic)))
        (push (cons diagnostic (cons (overlay-start overlay) (overlay-end overlay))) found)))
    (let ((gone (seq-difference (flymake-running-backends) (eca-context-flymake--started))))
      (seq-remove (lambda (one)
                    (let ((backend (flymake-diagnostic-backend (car one))))
                      (or (memq backend gone) (eca-context-flymake--told-p backend))))
                  (append found (eca-context-flymake--empty))))))

(defun eca-context-flymake-shown (backend)
  "Return what BACKEND is shown to have found in the buffer, where it is now.
The value is a list of (MESSAGE BEG . END)."
  (let (shown)
    (dolist (overlay (overlays-in (point-min) (point-max)))
      (let ((diagnostic (overlay-get overlay 'flymake-diagnostic)))
        (when (and diagnostic (eq (flymake-diagnostic-backend diagnostic) backend))
          (push (cons (flymake-diagnostic-text diagnostic)
                      (cons (overlay-start overlay) (overlay-end overlay)))
                shown))))
    shown))

;; Of what lies beyond the text newer ones keep where it was said to lie; older ones, where the text ends.
(defun eca-context-flymake--empty ()
  "Return the diagnostics without extent in the text, (DIAGNOSTIC BEG . END) each."
  (let ((is-present (not (bound-and-true-p flymake--recent-changes)))
        found)
    (dolist (state (eca-context-flymake--states))
      (dolist (diagnostic (and (fboundp 'flymake--state-diags) (flymake--state-diags state)))
        (let ((beg (flymake-diagnostic-beg diagnostic))
              (end (flymake-diagnostic-end diagnostic)))
          (when (and (integer-or-marker-p beg) (integer-or-marker-p end)
                     (or (= beg end)
                         ;; In changed text it may be what was deleted at its end.
                         (and is-present (>= (min beg end) (point-max)))))
            (push (cons diagnostic (cons (min beg (point-max)) (min end (point-max))))
                  found)))))
    found))

(defun eca-context-flymake--states ()
  "Return what flymake knows of each backend in the current buffer, a list."
  (and (boundp 'flymake--state)
       (hash-table-p flymake--state)
       (hash-table-values flymake--state)))

(defun eca-context-flymake--listed (path)
  "Return what flymake only lists about PATH, conses (DIAGNOSTIC BEG . END).
The current buffer holds the text of PATH."
  (mapcar #'eca-context-flymake--place
          (and path
               (cdr (assoc (expand-file-name path)
                           (bound-and-true-p flymake-list-only-diagnostics))))))

(defun eca-context-flymake--place (diagnostic)
  "Return (DIAGNOSTIC BEG . END); DIAGNOSTIC may have (LINE . COLUMN) from 1."
  (let* ((at (lambda (where)
               (pcase where
                 ((pred integer-or-marker-p) where)
                 (`(,line . ,column)
                  (let ((bol (or (eca-context-position-to-point (max 0 (1- line)) 0) (point-max))))
                    (min (+ bol (max 0 (1- (or column 1))))
                         (save-excursion (goto-char bol) (line-end-position))))))))
         (beg (or (funcall at (flymake-diagnostic-beg diagnostic)) (point-min)))
         (end (or (funcall at (flymake-diagnostic-end diagnostic)) beg)))
    (cons diagnostic (cons beg (max beg end)))))

(defun eca-context-flymake--foreign (path)
  "Return as items what backends of this buffer said of files other than PATH.
Of files that a buffer checks itself, that buffer tells."
  (let (items)
    (dolist (state (eca-context-flymake--states))
      (when (fboundp 'flymake--state-foreign-diags)
        (maphash
         (lambda (file diagnostics)
           (unless (or (equal (expand-file-name file) path) (find-buffer-visiting file))
             (setq items (append (eca-context-flymake--unread file diagnostics) items))))
         (flymake--state-foreign-diags state))))
    items))

(defun eca-context-flymake-listed-items (roots)
  "Return as items what flymake only lists about files in ROOTS, absolute folders.
Files that a buffer visits are left to that buffer."
  (let ((roots (mapcar (lambda (root) (file-name-as-directory (expand-file-name root))) roots)))
    (mapcan (pcase-lambda (`(,file . ,diagnostics))
              (and (or (null roots)
                       (seq-some (lambda (root) (string-prefix-p root file)) roots))
                   (not (find-buffer-visiting file))
                   (eca-context-flymake--unread file diagnostics)))
            (copy-sequence flymake-list-only-diagnostics))))

(defun eca-context-flymake--unread (file diagnostics)
  "Return DIAGNOSTICS of FILE as items, their places as they were reported."
  (mapcar
   (lambda (diagnostic)
     (let* ((place (lambda (where)
                     (if (consp where)
                         (cons (max 0 (1- (car where))) (max 0 (1- (or (cdr where) 1))))
                       '(0 . 0))))
            (beg (funcall place (flymake-diagnostic-beg diagnostic)))
            (end (if (flymake-diagnostic-end diagnostic)
                     (funcall place (flymake-diagnostic-end diagnostic))
                   beg)))
       (eca-context-flymake--item diagnostic (expand-file-name file) beg end)))
   diagnostics))

;;;; Items

(defun eca-context-flymake--items (held path)
  "Return as items about PATH the diagnostics HELD, conses (DIAGNOSTIC BEG . END)."
  (let ((places (eca-context-position-sweep
                 (mapcan (lambda (one) (list (cadr one) (cddr one))) held))))
    (mapcar (lambda (one)
              (let ((beg (pop places))
                    (end (pop places)))
                (eca-context-flymake--item (car one) path beg end)))
            held)))

(defun eca-context-flymake--item (diagnostic path beg end)
  "Return DIAGNOSTIC of PATH as an item; BEG and END are conses (LINE . CHARACTER)."
  (vector path
          (eca-context-flymake--severity (flymake-diagnostic-type diagnostic))
          (let ((backend (flymake-diagnostic-backend diagnostic)))
            (and backend (symbolp backend) (symbol-name backend)))
          (and (fboundp 'flymake-diagnostic-code)
               (flymake-diagnostic-code diagnostic)
               (format "%s" (flymake-diagnostic-code diagnostic)))
          (vector (car beg) (cdr beg) (car end) (cdr end))
          (or (flymake-diagnostic-text diagnostic) "")))

(defun eca-context-flymake--severity (type)
  "Return the word of severity for the flymake diagnostic TYPE, by its category."
  (let* ((category (or (get type 'flymake-category) type))
         (severity (or (get type 'severity) (get category 'severity))))
    (pcase category
      ((or 'flymake-error :error) "error")
      ((or 'flymake-warning :warning) "warning")
      ((or 'flymake-note :note) "info")
      (_ (cond ((not (numberp severity)) "error")
               ((>= severity (warning-numeric-level :error)) "error")
               ((>= severity (warning-numeric-level :warning)) "warning")
               (t "info"))))))

(provide 'eca-context-flymake)
;;; eca-context-flymake.el ends here
