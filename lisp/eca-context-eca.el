;;; eca-context-eca.el --- The door of eca-emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The only file that names what belongs to eca-emacs: advice on its request handler and on the
;; capabilities it sends, added and removed by `eca-context-mode'.  Advice goes by name, so eca-emacs
;; may be loaded before or after.  It knows no provider and no protocol but the names of the methods.

;;; Code:

(require 'seq)
(require 'eca-context)
(require 'eca-context-collect)
(require 'eca-context-headless)
(require 'eca-context-hosts)
(require 'eca-context-log)

(declare-function eca--session-process "ext:eca-util" (session) t)
(declare-function eca--session-workspace-folders "ext:eca-util" (session) t)
(defvar eca--sessions)

(defconst eca-context-eca--methods
  '("editor/getContext" "editor/getDiagnostics" "editor/getDefinition" "editor/getReferences")
  "The requests that are answered here; all others are eca-emacs' own.")

(defconst eca-context-eca--needed
  '((eca--handle-server-request 2) (eca-api-request-async 3)
    (eca--session-process 1) (eca--session-workspace-folders 1))
  "Each function of eca-emacs that is needed, and with how many arguments.")

(defun eca-context-eca-trouble ()
  "Return why the loaded eca-emacs cannot be served, a sentence, or nil.
Nil also when none is loaded yet."
  (let ((faults (seq-remove
                 (lambda (need)
                   (and (fboundp (car need))
                        (pcase-let ((`(,least . ,most) (func-arity (car need)))
                                    (n (cadr need)))
                          (and (<= least n) (or (eq most 'many) (<= n most))))))
                 eca-context-eca--needed)))
    (and faults
         (featurep 'eca)
         (format "this eca-emacs does not have what eca-context needs (%s); update eca-context"
                 (mapconcat (lambda (need) (symbol-name (car need))) faults ", ")))))

(defun eca-context-eca-install ()
  "Answer the server's requests; return nil, or a sentence telling why not.
With a sentence nothing is advised.  If a server is running that was not told
of the capabilities, the echo area tells what to do."
  (or (eca-context-eca-trouble)
      (progn
        (advice-add 'eca--handle-server-request :around #'eca-context-eca--handle)
        (advice-add 'eca-api-request-async :filter-args #'eca-context-eca--request)
        (advice-add 'eca-delete-session :after #'eca-context-eca--deleted)
        (when (eca-context-eca--running-p)
          (message "eca-context: M-x eca-restart tells the running server what it can ask"))
        nil)))

(defun eca-context-eca-uninstall ()
  "Leave eca-emacs as it was."
  (advice-remove 'eca--handle-server-request #'eca-context-eca--handle)
  (advice-remove 'eca-api-request-async #'eca-context-eca--request)
  (advice-remove 'eca-delete-session #'eca-context-eca--deleted))

(defalias 'eca-context-eca-unload-function #'eca-context-collect-unload)

(defun eca-context-eca-state ()
  "Return a sentence about eca-emacs as it is now, for a person."
  (cond
   ((not (featurep 'eca)) "not loaded; it is served once it is")
   ((eca-context-eca-trouble))
   ((not eca-context-mode) "loaded, and not served: `eca-context-mode' is off")
   ((eca-context-eca--running-p) "loaded and served; a server is running")
   (t "loaded and served; no server is running")))

(defun eca-context-eca--running-p ()
  "Return non-nil if a session's server is running."
  (seq-some (lambda (entry) (process-live-p (eca--session-process (cdr entry))))
            (bound-and-true-p eca--sessions)))

;;;; Sessions

(defun eca-context-eca-workspaces ()
  "Return the workspace folders of each session, a list of lists."
  (and (null (eca-context-eca-trouble))
       (mapcar (lambda (entry) (eca--session-workspace-folders (cdr entry)))
               (bound-and-true-p eca--sessions))))

(defun eca-context-eca-roots ()
  "Return the workspace folders of all sessions."
  (apply #'append (eca-context-eca-workspaces)))

(defun eca-context-eca--served-p (session)
  "Return non-nil if the requests of SESSION's server are answered here.
Not if it runs in a container or on another host: it names files otherwise than
Emacs does, and eca-emacs translates."
  (not (or (eca-context-eca-trouble)
           (bound-and-true-p eca-local-to-remote-prefix-map)
           (seq-some #'eca-context-hosts-remote-p (eca--session-workspace-folders session)))))

(defun eca-context-eca--deleted (&rest _)
  "Stop the language servers that ran for a session that is gone."
  (eca-context-headless-keep (eca-context-eca-roots)))

(defun eca-context-eca-wrap (command roots)
  "Return COMMAND, which is to read ROOTS, as eca-emacs wraps its own server's.
The value is a cons with the command and whether the program may be told the
process id of Emacs: not if it runs where that is another one."
  (let ((wrapper (bound-and-true-p eca-process-wrapper-function)))
    (cons (if wrapper (funcall wrapper command roots) command)
          (and (or (not (boundp 'eca-send-process-id)) (symbol-value 'eca-send-process-id)) t))))

;;;; Requests

(defun eca-context-eca--handle (original session request)
  "Answer REQUEST of SESSION later and return `:async' if it is ours.
Else return what ORIGINAL makes of it.  The work is done in a timer, after the
process filter that calls this has returned."
  (if (or (not (member (plist-get request :method) eca-context-eca--methods))
          (not (eca-context-eca--served-p session)))
      (funcall original session request)
    (let ((id (plist-get request :id))
          (method (plist-get request :method)))
      (eca-context-log-note (format "%s asks %s" id method) (plist-get request :params))
      (eca-context-answer
       id method (plist-get request :params)
       (list :roots (eca--session-workspace-folders session)
             :deadline (+ (float-time) eca-context-time-limit))
       (lambda (frame) (eca-context-eca--send session id frame)))
      :async)))

(defvar eca-context-eca--unsent (make-hash-table :test #'eq :weakness 'key)
  "For each process that is being written to: its frames, the first one first.
The string \"\" stands for the rest of a frame, which Emacs itself keeps.")

(defconst eca-context-eca--patience 0.05
  "For how many seconds Emacs may wait for a server to read.")

(defun eca-context-eca--send (session id frame)
  "Send FRAME, the answer to request ID, to SESSION's server if it is alive.
FRAME is a unibyte string, header included.  A server that does not read now
gets it when it does; Emacs does not wait for it."
  (let* ((process (eca--session-process session))
         (unsent (and process (gethash process eca-context-eca--unsent))))
    (if (not (process-live-p process))
        (eca-context-log-note (format "%s is not answered, the server is gone" id) nil)
      (eca-context-log-note (format "%s is answered" id) frame)
      (puthash process (append unsent (list frame)) eca-context-eca--unsent)
      (unless unsent
        (eca-context-eca--write process 0.01)))))

(defun eca-context-eca--write (process delay)
  "Write to PROCESS what it shall get; what it does not read, in DELAY seconds.
DELAY grows with each try, up to a quarter of a second."
  (condition-case err
      (let ((reads t))
        ;; One that is stopped may go on.
        (while (and reads (eq (process-status process) 'run)
                    (gethash process eca-context-eca--unsent))
          (setq reads (eca-context-eca--written-p
                       process (car (gethash process eca-context-eca--unsent))))
          ;; Others may have come while it was written.
          (let ((rest (cdr (gethash process eca-context-eca--unsent))))
            (puthash process (if reads rest (cons "" rest)) eca-context-eca--unsent)))
        (if (and (process-live-p process) (gethash process eca-context-eca--unsent))
            (run-at-time delay nil #'eca-context-eca--write process (min 0.25 (* 2 delay)))
          (remhash process eca-context-eca--unsent)))
    (error
     (remhash process eca-context-eca--unsent)
     (eca-context-log-note "An answer was not sent" (error-message-string err)))))

(defun eca-context-eca--written-p (process string)
  "Write STRING to PROCESS and return non-nil if all of it was written in time."
  (eca-context-job-within eca-context-eca--patience
                          (lambda () (process-send-string process string) t)))

;;;; Capabilities

(defun eca-context-eca--request (arguments)
  "Return ARGUMENTS of a request; those of `initialize' with what is answered here.
The caller's lists stay as they are."
  (pcase-let ((`(,session . ,keys) arguments))
    (if (or (not (equal (plist-get keys :method) "initialize"))
            (not (eca-context-eca--served-p session)))
        arguments
      (cons session
            (seq-reduce (pcase-lambda (keys `(,path . ,value))
                          (eca-context-eca--put keys path value))
                        (eca-context-eca--capabilities)
                        keys)))))

(defun eca-context-eca--put (plist path value)
  "Return a copy of PLIST with VALUE where the keys of PATH lead."
  (plist-put (copy-sequence plist) (car path)
             (if (cdr path)
                 (eca-context-eca--put (plist-get plist (car path)) (cdr path) value)
               value)))

(defun eca-context-eca--capabilities ()
  "Return what is answered: (PATH . VALUE) pairs for the keys of `initialize'.
A feature that the user switched off is false, also if eca-emacs would answer."
  (let ((editor '(:params :capabilities :codeAssistant :editor))
        (value (lambda (feature)
                 (if (member feature eca-context-disabled-features) :json-false t))))
    (append
     (mapcar (lambda (feature)
               (cons (append editor (list :context (intern (concat ":" feature))))
                     (funcall value feature)))
             (remove "diagnostics" (mapcar #'car eca-context-collect-features)))
     (mapcar (pcase-lambda (`(,key . ,feature))
               (cons (append editor (list key)) (funcall value feature)))
             '((:diagnostics . "diagnostics") (:definition . "definitions")
               (:references . "references"))))))

(provide 'eca-context-eca)
;;; eca-context-eca.el ends here
