;;; guest.el --- The user's world, before and after  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A snapshot of what a request may not change.  `guest-check' asks once to warm up (libraries load,
;; caches fill), and then compares the world before and after the second time.

;;; Code:

(require 'cl-lib)
(require 'eieio)
(require 'ert)
(require 'json)
(require 'recentf)
(require 'seq)
(require 'url-util)
(require 'xref)
(require 'eca-context-collect)

(defconst guest-caches
  '(syntax-ppss-wide syntax-ppss-narrow syntax-ppss-narrow-start syntax-ppss--updated-cache
    syntax-propertize--done syntax-ppss-cache syntax-ppss-last
    jit-lock-context-unfontify-pos font-lock-fontified
    parse-sexp-lookup-properties buffer-display-count buffer-display-time
    ;; Their values are compared as such.
    buffer-undo-list mark-ring)
  "Local variables that are caches, or looked at by themselves.")

(defun guest-buffer (buffer)
  "Return what the user has in BUFFER."
  (with-current-buffer buffer
    (list :modified (buffer-modified-p) :tick (buffer-chars-modified-tick)
          :point (point) :narrowing (list (point-min) (point-max))
          :mark (list (mark t) mark-active (mapcar #'marker-position mark-ring))
          :undo (list buffer-undo-list (safe-length buffer-undo-list))
          :file (list buffer-file-name (visited-file-modtime))
          :mode major-mode
          :overlays (sort (mapcar (lambda (overlay)
                                    (list (overlay-start overlay) (overlay-end overlay)
                                          (overlay-properties overlay)))
                                  (save-restriction
                                    (widen)
                                    (overlays-in (point-min) (point-max))))
                          (lambda (a b) (< (car a) (car b))))
          :locals (sort (seq-remove (lambda (variable)
                                      (memq (car-safe variable) guest-caches))
                                    (buffer-local-variables))
                        (lambda (a b) (string< (format "%s" (or (car-safe a) a))
                                               (format "%s" (or (car-safe b) b))))))))

(defun guest-variables ()
  "Return the values of all hooks and user options."
  (let (values)
    (mapatoms
     (lambda (symbol)
       (when (and (default-boundp symbol)
                  (or (string-match-p "-\\(hook\\|functions?\\)s?\\'" (symbol-name symbol))
                      (custom-variable-p symbol)))
         (push (cons symbol (default-toplevel-value symbol)) values))))
    (sort values (lambda (a b) (string< (car a) (car b))))))

(defun guest-functions ()
  "Return what all functions are, advice included."
  (let (values)
    (mapatoms (lambda (symbol)
                (when (fboundp symbol)
                  (push (cons symbol (symbol-function symbol)) values))))
    (sort values (lambda (a b) (string< (car a) (car b))))))

(defun guest-windows ()
  "Return what the user sees: frames, windows, their buffers and places."
  (list (selected-frame) (selected-window)
        (mapcar (lambda (window)
                  (list window (window-buffer window) (window-point window)
                        (window-start window) (window-edges window)
                        (window-prev-buffers window)))
                (window-list nil t))))

(defun guest-timers ()
  "Return what all timers call.
What a language server said and jsonrpc takes in at the next wait is not one: it
may end a request's progress after its answer."
  (mapcar #'timer--function
          (seq-remove (lambda (timer)
                        (let ((server (car-safe (timer--args timer))))
                          (and (eieio-object-p server)
                               (class-p 'jsonrpc-connection)
                               (object-of-class-p server 'jsonrpc-connection))))
                      (append timer-list timer-idle-list))))

(defun guest-snapshot ()
  "Return the user's world as a plist, each value to be compared by `equal'."
  (let* ((matches (match-data))
         (visible (seq-remove (lambda (buffer) (string-prefix-p " " (buffer-name buffer)))
                              (buffer-list))))
    (list :match-data matches
          :current (current-buffer)
          :buffers (mapcar (lambda (buffer) (cons (buffer-name buffer) buffer)) visible)
          :hidden (seq-remove (lambda (name)
                                (string-match-p "\\` \\*\\(code-conv\\|Echo Area\\|Minibuf\\)" name))
                              (sort (mapcar #'buffer-name (seq-difference (buffer-list) visible))
                                    #'string<))
          :in-buffers (mapcar #'guest-buffer visible)
          :windows (guest-windows)
          :kill-ring (list kill-ring kill-ring-yank-pointer)
          :xref (copy-tree (if (boundp 'xref--history) (symbol-value 'xref--history)
                             (symbol-value 'xref--marker-ring)))
          :global-marks (copy-sequence global-mark-ring)
          :recentf (copy-sequence recentf-list)
          :message (current-message)
          :timers (guest-timers)
          :processes (process-list)
          :features (length features)
          :variables (guest-variables)
          :functions (guest-functions))))

(defun guest-difference (before after)
  "Return what is not the same in BEFORE and AFTER, two snapshots."
  (cl-loop for (key value) on before by #'cddr
           for now = (plist-get after key)
           ;; A timer of the user's own may end meanwhile.
           unless (or (equal value now)
                      (and (eq key :timers) (null (guest-only now value))))
           collect (cons key
                         (if (and (proper-list-p value) (proper-list-p now))
                             (list :was (guest-only value now) :is (guest-only now value))
                           (list :was value :is now)))))

(defun guest-only (some others)
  "Return the elements of SOME that are not among OTHERS."
  (let ((known (make-hash-table :test #'eq)))
    (dolist (other others)
      (push other (gethash (car-safe other) known)))
    (seq-remove (lambda (one) (member one (gethash (car-safe one) known))) some)))

(defun guest-uri (file)
  "Return the URI of FILE."
  (concat "file://" (url-hexify-string file (cons ?/ url-unreserved-chars))))

(defun guest-read (frame)
  "Return the answer that FRAME holds, plists and lists."
  (json-parse-string
   (decode-coding-string (substring frame (seq-position frame ?{)) 'utf-8)
   :object-type 'plist :array-type 'list :null-object nil :false-object nil))

(defun guest-ask (method params &optional roots seconds)
  "Return the answer to METHOD with PARAMS within ROOTS, plists and lists.
It comes once, within SECONDS (10) and a bit, and not before this waits."
  (let* ((frames nil)
         (seconds (or seconds 10))
         (deadline (+ (float-time) seconds 10))
         (inhibit-message t))
    (eca-context-answer 7 method params
                        (list :roots roots :deadline (+ (float-time) seconds))
                        (lambda (frame) (push frame frames)))
    (should-not frames)
    (while (and (null frames) (< (float-time) deadline))
      (accept-process-output nil 0.005))
    (should (= (length frames) 1))
    (guest-read (car frames))))

(defun guest-settle ()
  "Do now what Emacs itself does some seconds after an edit: mark what to undo."
  (when undo-auto-current-boundary-timer
    (cancel-timer undo-auto-current-boundary-timer)
    (setq undo-auto-current-boundary-timer nil))
  (undo-auto--boundaries 'timer))

(defun guest-check (method params &optional roots seconds)
  "Ask METHOD with PARAMS twice and return the second result.
ROOTS and SECONDS are those of `guest-ask'.  What the second time changed in the
user's world is a failure."
  (guest-ask method params roots seconds)
  (garbage-collect)
  (guest-settle)
  (string-match "b+" "abbc")
  (let* ((before (guest-snapshot))
         (answer (guest-ask method params roots seconds))
         (difference (guest-difference before (guest-snapshot))))
    (should-not difference)
    (plist-get answer :result)))

(defmacro guest-with-folder (var &rest body)
  "Evaluate BODY with VAR bound to a new folder; its buffers and it go afterwards."
  (declare (indent 1) (debug (symbolp body)))
  `(let ((,var (file-truename (file-name-as-directory (make-temp-file "eca-context-test" t)))))
     (unwind-protect (progn ,@body)
       (dolist (buffer (buffer-list))
         (when (string-prefix-p ,var (or (buffer-file-name buffer) ""))
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (kill-buffer buffer)))
       (delete-directory ,var t))))

(defmacro guest-within (seconds &rest body)
  "Evaluate BODY until its value, how long something took, is below SECONDS.
A busy machine may make it longer: it is a failure if it was so three times."
  (declare (indent 1) (debug (form body)))
  (let ((times (make-symbol "times")))
    `(let (,times)
       (while (and (< (length ,times) 3)
                   (not (and ,times (< (car ,times) ,seconds))))
         (push (progn ,@body) ,times))
       (should (< (apply #'min ,times) ,seconds)))))

(defun guest-write (file text)
  "Write TEXT into FILE as it is and return FILE's URI."
  (make-directory (file-name-directory file) t)
  (let ((coding-system-for-write (if (multibyte-string-p text) 'utf-8-unix 'no-conversion)))
    (write-region text nil file nil 'silent))
  (guest-uri file))

;; Looked at are all functions and variables of Emacs: interpreted, that takes a third of a second.
(dolist (function '(guest-buffer guest-variables guest-functions guest-snapshot guest-difference
                    guest-only))
  (unless (or (byte-code-function-p (symbol-function function))
              (subrp (symbol-function function)))
    (byte-compile function)))

(provide 'guest)
;;; guest.el ends here
