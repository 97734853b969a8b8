;;; eca-context-collect.el --- Gather what a request asks for  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; One request is one job: the plan comes from the module, each feature's hook is walked in the file's
;; buffer, a provider's fault is its own outcome, and DONE is called once.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'url-util)
(require 'eca-context)
(require 'eca-context-position)
(require 'eca-context-symbol)
(require 'eca-context-imenu)
(require 'eca-context-xref)
(require 'eca-context-flycheck)
(require 'eca-context-flymake)

(declare-function eca-context-module-plan "ext:eca-context-module" (method params options) t)
(declare-function eca-context-module-answer "ext:eca-context-module"
                  (id method params options facts) t)
(declare-function eca-context-module-error-frame "ext:eca-context-module" (id code message) t)

;; In the manner of `eldoc-documentation-functions': each is called with REQUEST, a plist with
;; `:path', `:roots' and `:deadline', and CALLBACK; it returns an outcome, a list of outcomes, nil
;; for "not mine", or `:async' and then calls CALLBACK once.
(defvar eca-context-symbol-functions '(eca-context-symbol-at-point)
  "Functions that return the symbol at point.")
(defvar eca-context-definitions-functions '(eca-context-xref-definitions)
  "Functions that return the definitions of the symbol at point.")
(defvar eca-context-document-symbols-functions '(eca-context-imenu-document-symbols)
  "Functions that return the symbols of the buffer.")
(defvar eca-context-diagnostics-functions
  '(eca-context-flymake-diagnostics eca-context-flycheck-diagnostics)
  "Functions that return the diagnostics of the buffer.")

(defconst eca-context-collect--features
  '(("symbolAtPosition" :symbolAtPosition eca-context-symbol-functions)
    ("definitions" :definitions eca-context-definitions-functions)
    ("documentSymbols" :documentSymbols eca-context-document-symbols-functions)
    ("diagnostics" :diagnostics eca-context-diagnostics-functions))
  "Each feature, its key in the facts, and its hook.")

(defun eca-context-answer (id method params context send)
  "Answer request ID for METHOD with PARAMS and call SEND once with the frame.
CONTEXT is a plist: `:roots', folders outside of which no file is opened (nil:
no limit), and `:deadline', a `float-time'.  The work is done in a timer, never
in the caller.  An unusable module is an error here."
  (let ((trouble (eca-context-module-trouble)))
    (when trouble
      (error "%s" (concat "eca-context: " trouble))))
  (run-at-time
   0 nil
   (lambda ()
     (save-match-data
       (eca-context-collect
        method params context
        (lambda (facts)
          (funcall send
                   (condition-case err
                       (eca-context-module-answer id method params (eca-context-options) facts)
                     (error (eca-context-module-error-frame
                             id -32603 (concat "eca-context: " (error-message-string err))))))))))))

(defun eca-context-collect (method params context done)
  "Gather facts for METHOD with PARAMS under CONTEXT; call DONE once with them."
  (let ((plan (condition-case err
                  (eca-context-module-plan method params (eca-context-options))
                (error (list :error (error-message-string err))))))
    (if (plist-get plan :error)
        (funcall done nil)
      (let* ((uri (plist-get plan :uri))
             (path (if uri
                       (eca-context-uri-to-path uri)
                     (and (equal method "editor/getContext")
                          (eca-context-collect--current-file (plist-get context :roots)))))
             (trouble (eca-context-collect--trouble uri path (plist-get context :roots) method)))
        (cond
         (trouble (funcall done (list :document (and path (list :path path)) :trouble trouble)))
         ((null path) (eca-context-collect--everywhere plan context done))
         (t (eca-context-collect--file path plan context done)))))))

(defun eca-context-uri-to-path (uri)
  "Return the absolute file name that URI names, or nil for another scheme."
  (when (string-match "\\`file:\\(?://[^/]*\\)?\\(/.*\\)\\'" uri)
    (let ((path (decode-coding-string (url-unhex-string (match-string 1 uri)) 'utf-8)))
      (if (string-match "\\`/\\([A-Za-z]:.*\\)\\'" path)
          (match-string 1 path)
        path))))

(defun eca-context-collect--current-file (roots)
  "Return the most recently used file in ROOTS that a buffer visits, or nil."
  (cl-loop for buffer in (buffer-list)
           for file = (buffer-file-name buffer)
           when (and file (eca-context-collect--inside-p file roots))
           return file))

(defun eca-context-collect--inside-p (file roots)
  "Return non-nil if FILE truly lies in one of ROOTS; nil ROOTS is all."
  (or (null roots)
      (let ((true (file-truename file)))
        (seq-some (lambda (root) (string-prefix-p (file-name-as-directory (file-truename root)) true))
                  roots))))

(defun eca-context-collect--trouble (uri path roots method)
  "Return why nothing can be said of PATH, which URI named, or nil.
ROOTS are the workspace folders; METHOD without URI may ask about all of them."
  (pcase-let
      ((`(,code . ,reason)
        (cond
         ((and (null uri) (null path))
          (and (equal method "editor/getContext")
               '("no-file" . "no file was named and none of the workspace is open")))
         ((null path) (cons "unsupported-scheme" (format "only file: URIs are answered, not %s" uri)))
         ((and (file-remote-p path) (not (file-remote-p path nil t)))
          '("remote" . "there is no live connection to that host"))
         ((seq-some (lambda (regexp) (let ((case-fold-search nil)) (string-match-p regexp path)))
                    eca-context-excluded-files)
          '("excluded" . "the user excludes this file"))
         ((find-buffer-visiting path) nil)
         ((not (eca-context-collect--inside-p path roots))
          '("outside-workspace" . "the file lies outside the workspace folders"))
         ((not (file-exists-p path)) (cons "not-found" "there is no such file"))
         ((not (file-regular-p path)) (cons "not-a-file" "that is no regular file"))
         ((let ((size (file-attribute-size (file-attributes path))))
            (and large-file-warning-threshold (> size large-file-warning-threshold)))
          (cons "too-large" "the file is over `large-file-warning-threshold'")))))
    (and code (list :code code :reason reason))))

(defun eca-context-collect--file (path plan context done)
  "Gather what PLAN wants of the file PATH under CONTEXT and call DONE with it."
  (let* ((visiting (find-buffer-visiting path))
         (buffer (or visiting (eca-context-collect--background path)))
         (facts nil)
         (finish (lambda (facts)
                   (unless visiting
                     (let ((kill-buffer-hook nil)) (kill-buffer buffer)))
                   (funcall done facts))))
    (condition-case err
        (with-current-buffer buffer
          (save-excursion
            (save-restriction
              (widen)
              (setq facts (append (list :document (eca-context-collect--document path visiting)
                                        :texts (eca-context-collect--texts path visiting))
                                  (eca-context-collect--position plan visiting))))))
      (error (setq facts (list :document (list :path path)
                               :trouble (list :code "error" :reason (error-message-string err))))))
    (if (plist-get facts :trouble)
        (funcall finish facts)
      (eca-context-collect--walk (plist-get plan :features) buffer facts path context finish))))

(defun eca-context-collect--walk (features buffer facts path context done)
  "Ask for FEATURES in BUFFER one by one, add to FACTS of PATH, call DONE.
Between two features Emacs serves the user.  CONTEXT holds the deadline."
  (if (null features)
      (funcall done facts)
    (pcase-let* ((`(,_ ,key ,hook) (assoc (car features) eca-context-collect--features))
                 (next (lambda (outcomes)
                         (run-at-time
                          0 nil #'eca-context-collect--walk (cdr features) buffer
                          (append (list key outcomes)
                                  (and (eq key :definitions)
                                       (list :excluded (eca-context-collect--excluded outcomes)))
                                  facts)
                          path context done)))
                 (point (plist-get facts :point)))
      (cond
       ((not (buffer-live-p buffer))
        (funcall next (list (list :provider "" :status "error" :reason "the buffer was killed"))))
       ((> (float-time) (plist-get context :deadline))
        (funcall next (list (list :provider "" :status "timeout" :retry t
                                  :reason "the time allowed was used up before"))))
       ((and (null point) (member (car features) '("symbolAtPosition" "definitions")))
        (funcall next nil))
       (t
        (eca-context-collect--run (symbol-value hook) buffer point
                                  (append (list :path path) context) next))))))

(defun eca-context-collect--excluded (outcomes)
  "Return the files among the places of OUTCOMES that the user excludes."
  (seq-filter (lambda (file)
                (seq-some (lambda (regexp) (string-match-p regexp file))
                          eca-context-excluded-files))
              (mapcan (lambda (outcome)
                        (mapcar (lambda (item) (aref item 0)) (plist-get outcome :items)))
                      outcomes)))

(defun eca-context-collect--run (functions buffer point request next)
  "Call FUNCTIONS in BUFFER at POINT with REQUEST; give NEXT their outcomes."
  (let* ((outcomes nil)
         (n-waiting 1)
         (is-over nil)
         (timer nil)
         (finish (lambda ()
                   (unless is-over
                     (setq is-over t)
                     (when timer (cancel-timer timer))
                     (funcall next (nreverse outcomes)))))
         (take (lambda (outcome)
                 (dolist (one (if (keywordp (car-safe outcome)) (list outcome) outcome))
                   (push one outcomes)))))
    (dolist (function functions)
      (let* ((is-answered nil)
             (said (eca-context-collect--call
                    function buffer point request
                    (lambda (outcome)
                      (unless (or is-answered is-over)
                        (setq is-answered t n-waiting (1- n-waiting))
                        (funcall take outcome)
                        (when (zerop n-waiting) (funcall finish)))))))
        (if (eq said :async)
            (unless is-answered (setq n-waiting (1+ n-waiting)))
          (funcall take said))))
    (setq n-waiting (1- n-waiting))
    (if (<= n-waiting 0)
        (funcall finish)
      (setq timer (run-at-time (max 0 (- (plist-get request :deadline) (float-time))) nil
                               (lambda ()
                                 (push (list :provider "" :status "timeout" :retry t
                                             :reason "a provider did not answer in time")
                                       outcomes)
                                 (funcall finish)))))))

(defun eca-context-collect--call (function buffer point request callback)
  "Call FUNCTION in BUFFER at POINT with REQUEST and CALLBACK, guarded."
  (let ((inhibit-message t)
        (message-log-max nil)
        (inhibit-interaction t)
        (inhibit-quit nil))
    (condition-case err
        (save-match-data
          (save-window-excursion
            (with-current-buffer buffer
              (save-excursion
                (save-restriction
                  (widen)
                  (when point (goto-char point))
                  (funcall function request callback))))))
      (inhibited-interaction
       (list :provider (symbol-name function) :status "would-prompt"
             :reason "it wanted to ask the user"))
      ((error quit)
       (list :provider (format "%s" function) :status "error"
             :reason (error-message-string err))))))

(defun eca-context-collect--document (path visiting)
  "Return the document block of the current buffer, the text of PATH.
VISITING is nil if it is a background copy."
  (list :path path
        :languageId (string-remove-suffix
                     "-ts" (string-remove-suffix "-mode" (symbol-name major-mode)))
        :lineCount (eca-context-position-n-lines)
        :version (and visiting (number-to-string (buffer-chars-modified-tick)))
        :modified (and visiting (buffer-modified-p) t)
        :diskNewer (and visiting (file-exists-p path)
                        (not (verify-visited-file-modtime (current-buffer))) t)))

(defun eca-context-collect--texts (path visiting)
  "Return the buffer's text for the module where PATH on disk will not do.
VISITING is nil if the buffer is a background copy of the file."
  (when (or (not (memq (coding-system-base (or buffer-file-coding-system 'undecided))
                       '(utf-8 undecided us-ascii prefer-utf-8)))
            (and visiting
                 (or (buffer-modified-p) (file-remote-p path)
                     (not (file-exists-p path))
                     (not (verify-visited-file-modtime (current-buffer))))))
    (list (vector path (buffer-substring-no-properties (point-min) (point-max))
                  (and visiting (buffer-modified-p) t)))))

(defun eca-context-collect--position (plan visiting)
  "Return the facts about the position that PLAN asks for in the current buffer.
Without one it is point, if VISITING, the buffer the user has."
  (let* ((line (plist-get plan :line))
         (symbol (plist-get plan :symbol))
         (trouble (lambda (code reason) (list :positionTrouble (list :code code :reason reason))))
         (at (lambda (pos)
               (let ((place (car (eca-context-position-sweep (list pos)))))
                 (list :point pos :position (list :line (car place) :character (cdr place)))))))
    (cond
     ((and line (null (eca-context-position-to-point line 0)))
      (funcall trouble "out-of-range"
               (format "there is no line %d, the document has %d lines (0 to %d)" line
                       (eca-context-position-n-lines) (1- (eca-context-position-n-lines)))))
     (symbol
      (let ((found (eca-context-position-find-symbol line symbol
                                                     (or (plist-get plan :occurrence) 1))))
        (if (car found)
            (append (list :occurrences (cdr found)) (funcall at (car found)))
          (funcall trouble "symbol-not-found"
                   (format "%s stands %d times on line %d: %s" symbol (cdr found) line
                           (save-excursion
                             (goto-char (eca-context-position-to-point line 0))
                             (string-trim (buffer-substring-no-properties
                                           (point) (min (line-end-position) (+ (point) 200))))))))))
     (line (funcall at (eca-context-position-to-point line (plist-get plan :character))))
     (visiting (funcall at (let ((window (get-buffer-window visiting t)))
                             (if window (window-point window)
                               
                               (with-current-buffer visiting (point)))))))))

(defun eca-context-collect--background (path)
  "Return a hidden buffer with the text of PATH, in its mode without hooks."
  (let ((buffer (generate-new-buffer " *eca-context*" t)))
    (with-current-buffer buffer
      (let ((enable-local-variables nil)
            (enable-local-eval nil)
            (enable-dir-local-variables nil)
            (inhibit-interaction t)
            (inhibit-message t)
            (message-log-max nil)
            (find-file-hook nil))
        (condition-case nil
            (progn
              (insert-file-contents path)
              (let ((buffer-file-name path))
                (delay-mode-hooks (set-auto-mode t)))
              (set-buffer-modified-p nil))
          (error nil))))
    buffer))

(defun eca-context-collect--everywhere (_plan context done)
  "Gather what is known about files in the workspace of CONTEXT; call DONE once.
Each buffer that visits one is asked, and flymake's list of other files is read."
  (let* ((roots (plist-get context :roots))
         (open (seq-filter (lambda (buffer)
                             (eca-context-collect--shown-p (buffer-file-name buffer) roots))
                           (buffer-list)))
         (outcomes (list (list :provider "flymake" :kind "unknown" :status "ok"
                               :items (eca-context-flymake-listed-items nil))))
         (n-waiting (1+ (length open)))
         (finish (lambda ()
                   (setq n-waiting (1- n-waiting))
                   (when (zerop n-waiting)
                     (funcall done (list :diagnostics
                                         (eca-context-collect--shown outcomes roots)))))))
    (dolist (buffer open)
      (eca-context-collect--run
       eca-context-diagnostics-functions buffer nil
       (append (list :path (buffer-file-name buffer) :everywhere t) context)
       (lambda (more)
         (setq outcomes (append outcomes more))
         (funcall finish))))
    (funcall finish)))

(defun eca-context-collect--shown-p (file roots)
  "Return non-nil if FILE, a name or nil, lies in ROOTS and is not excluded."
  (and file
       (not (let ((case-fold-search nil))
              (seq-some (lambda (regexp) (string-match-p regexp file)) eca-context-excluded-files)))
       (eca-context-collect--inside-p file roots)))

(defun eca-context-collect--shown (outcomes roots)
  "Return OUTCOMES about many files with what may be shown of files in ROOTS.
That one file has no checker is no news among many; nor is an empty list."
  (let ((verdicts (make-hash-table :test #'equal))
        shown)
    (dolist (outcome outcomes)
      (let ((items (seq-filter
                    (lambda (item)
                      (let ((file (aref item 0)))
                        (when (eq (gethash file verdicts 'new) 'new)
                          (puthash file (eca-context-collect--shown-p file roots) verdicts))
                        (gethash file verdicts)))
                    (plist-get outcome :items))))
        (unless (or (equal (plist-get outcome :status) "no-provider")
                    (and (plist-get outcome :items) (null items))
                    (and (null items)
                         (equal (plist-get outcome :status) "ok")
                         (null (plist-get outcome :fresh))))
          (push (plist-put (copy-sequence outcome) :items items) shown))))
    (nreverse shown)))

(provide 'eca-context-collect)
;;; eca-context-collect.el ends here
