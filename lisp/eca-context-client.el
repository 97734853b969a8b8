;;; eca-context-client.el --- What language servers are asked  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; For each feature the requests that a language server gets, and the outcome with its answers, raw.
;; Requests run side by side; one that several features need is sent once; what is no longer needed is
;; cancelled.  It knows no editor's client: how a server is spoken to it is told.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'url-util)
(require 'eca-context-job)
(require 'eca-context-position)

(cl-defstruct (eca-context-client (:copier nil))
  "A server, spoken to about the document URI.
PROVIDER is the name of the editor's client, NAME the server's, SERVER itself.
ENCODING is how it counts characters.  CAN is called with a method and tells
whether the server has it; ALIVE without arguments.  SEND is called with a
method, params, and a function; it calls that once with (RESULT CODE MESSAGE),
CODE an error's or nil, and returns a function that cancels the request.  HOST is
what file names of the server's machine begin with here, nil for this machine.
VIA is nil, or a function that is called when no more is asked."
  provider name server uri encoding can alive send host via)

(defconst eca-context-client--features
  '((definitions eca-context-client--definitions
                 "textDocument/definition" "textDocument/declaration"
                 "textDocument/typeDefinition" "textDocument/implementation")
    (references eca-context-client--references "textDocument/references")
    (symbols eca-context-client--symbols "textDocument/documentSymbol")
    (documentation eca-context-client--documentation
                   "textDocument/hover" "textDocument/signatureHelp"))
  "Each feature, who asks for it, and the methods of which one is needed.")

(cl-defstruct (eca-context-client--task (:copier nil))
  "What is asked of CLIENT about a PLACE of the text with TICK.
STOPS are functions that take back what was asked.  It is OVER when OUTCOMES are
there; then DONE is called."
  client place tick stops over outcomes done)

(defmacro eca-context-client--guarded (task &rest body)
  "Evaluate BODY for TASK; an error ends the task and becomes its outcome."
  (declare (indent 1) (debug (form body)))
  `(condition-case err
       (save-match-data ,@body)
     (error (eca-context-client--end ,task
                                     (eca-context-client--failure
                                      (eca-context-client--task-client ,task) "error"
                                      (error-message-string err))))))

(defun eca-context-client-provide (feature clients request callback)
  "Ask CLIENTS for FEATURE at point of the current buffer, for REQUEST.
FEATURE is a symbol: `definitions', `references', `symbols', `documentation'.
Return a list of outcomes, or `:async', and then call CALLBACK once with one, at
the request's `:deadline' or before."
  (let* ((methods (cddr (assq feature eca-context-client--features)))
         (able (seq-filter (lambda (client)
                             (seq-some (lambda (method) (eca-context-client--can-p client method))
                                       methods))
                           clients)))
    (mapc #'eca-context-client--leave (seq-difference clients able #'eq))
    (if able
        (eca-context-client--start feature able (plist-get request :deadline) callback)
      (mapcar (lambda (client)
                (eca-context-client--failure
                 client "unsupported-by-provider"
                 (format "%s does not offer %s" (eca-context-client-name client) (car methods))))
              clients))))

(defun eca-context-client--start (feature clients deadline callback)
  "Ask CLIENTS for FEATURE at point until DEADLINE; call CALLBACK, return `:async'."
  (let* ((timer nil)
         (tasks (mapcar (lambda (client)
                          (make-eca-context-client--task
                           :client client :tick (buffer-chars-modified-tick)
                           :place (eca-context-position-encoded
                                   (eca-context-client-encoding client) (point))))
                        clients))
         (deadline (or deadline (+ (float-time) 10)))
         (done (lambda ()
                 (when (and callback (seq-every-p #'eca-context-client--task-over tasks))
                   (when timer (cancel-timer timer))
                   (let ((call callback))
                     (setq callback nil)
                     ;; It may be called from a timer or from the user's client.
                     (condition-case nil
                         (funcall call (seq-mapcat #'eca-context-client--task-outcomes tasks))
                       (error nil)))))))
    (dolist (task tasks)
      (setf (eca-context-client--task-done task) done))
    (dolist (task tasks)
      (eca-context-client--guarded task
        (funcall (cadr (assq feature eca-context-client--features)) task)))
    (cl-labels ((arm ()
                  (setq timer (and callback
                                   (run-at-time (min 0.1 (max 0.001 (- deadline (float-time))))
                                                nil #'watch))))
                (watch ()
                  (setq timer nil)
                  (save-match-data
                    (dolist (task tasks)
                      (eca-context-client--look-after task deadline)))
                  (arm)))
      (arm))
    :async))

(defun eca-context-client--look-after (task deadline)
  "End TASK if its server has died, or if it is DEADLINE."
  (let ((client (eca-context-client--task-client task)))
    (cond
     ((eca-context-client--task-over task))
     ((not (condition-case nil
               (funcall (eca-context-client-alive client))
             (error nil)))
      (eca-context-client--end task (eca-context-client--failure
                                     client "error" "the language server is gone")))
     ((>= (float-time) deadline)
      (eca-context-client--end task (eca-context-client--failure
                                     client "timeout"
                                     (format "%s did not answer in time"
                                             (eca-context-client-name client))))))))

(defun eca-context-client--end (task &rest outcomes)
  "Let TASK be over with OUTCOMES, unless it is."
  (unless (eca-context-client--task-over task)
    (setf (eca-context-client--task-over task) t
          (eca-context-client--task-outcomes task) outcomes)
    (dolist (stop (eca-context-client--task-stops task))
      (condition-case nil
          (funcall stop)
        (error nil)))
    (eca-context-client--leave (eca-context-client--task-client task))
    (funcall (eca-context-client--task-done task))))

(defun eca-context-client--leave (client)
  "Note that no more is asked of CLIENT."
  (let ((via (eca-context-client-via client)))
    (when via
      (condition-case nil
          (funcall via)
        (error nil)))))

(defun eca-context-client--can-p (client method)
  "Return non-nil if the server of CLIENT has METHOD."
  (funcall (eca-context-client-can client) method))

;;;; Outcomes

(defun eca-context-client--failure (client status reason)
  "Return an outcome of CLIENT with STATUS and REASON."
  (append (list :provider (eca-context-client-provider client) :kind "semantic"
                :status status :reason reason)
          (and (member status '("starting" "busy" "timeout")) '(:retry t))))

(defun eca-context-client--outcome (task answer &rest more)
  "Return the outcome of TASK with ANSWER, a list (RESULT CODE MESSAGE).
MORE is added if that is no error."
  (pcase-let ((client (eca-context-client--task-client task))
              (`(,result ,code ,message) answer))
    (if (null code)
        (append (list :provider (eca-context-client-provider client) :kind "semantic"
                      :status "ok" :raw result :encoding (eca-context-client-encoding client))
                more)
      (eca-context-client--failure
       client
       (pcase code
         (-32601 "unsupported-by-provider")
         (-32002 "starting")
         ((or -32800 -32801 -32802) "busy")
         (_ "error"))
       (if (and (stringp message) (not (equal message "")))
           ;; Some send a trace of what they were doing.
           (truncate-string-to-width (replace-regexp-in-string "[ \t\r\n]+" " " message) 200
                                     nil nil t)
         (format "%s answered with error %s" (eca-context-client-name client) code))))))

(defun eca-context-client--found-p (answer)
  "Return non-nil if ANSWER is not an error and not empty."
  (pcase-let ((`(,result ,code) answer))
    (and (null code) (eca-context-job-full-p result))))

;;;; Features

(defun eca-context-client--definitions (task)
  "Ask the server of TASK for definitions; for other roles where there is none."
  (let ((others (seq-filter
                 (lambda (role)
                   (eca-context-client--can-p (eca-context-client--task-client task)
                                              (concat "textDocument/" role)))
                 '("declaration" "typeDefinition" "implementation")))
        (outcome (lambda (role answer)
                   (eca-context-client--outcome task answer :role role))))
    (eca-context-client--all
     task '(("textDocument/definition"))
     (lambda (answers)
       (let* ((answer (car answers))
              (first (funcall outcome "definition" answer)))
         (if (or (null others)
                 (eca-context-client--found-p answer)
                 (not (member (plist-get first :status) '("ok" "unsupported-by-provider"))))
             (eca-context-client--end task first)
           (eca-context-client--all
            task (mapcar (lambda (role) (list (concat "textDocument/" role))) others)
            (lambda (answers)
              (let* ((all (seq-mapn (lambda (role answer) (cons answer (funcall outcome role answer)))
                                    others answers))
                     (found (seq-filter (lambda (one) (eca-context-client--found-p (car one))) all)))
                (apply #'eca-context-client--end task
                       (append (and (equal (plist-get first :status) "ok") (list first))
                               (mapcar #'cdr (or found all)))))))))))))

(defun eca-context-client--references (task)
  "Ask TASK's server for the references, and which of them is the declaration."
  (eca-context-client--all
   task
   (cons '("textDocument/references" :context (:includeDeclaration t))
         (seq-filter (lambda (call)
                       (eca-context-client--can-p (eca-context-client--task-client task)
                                                  (car call)))
                     '(("textDocument/definition") ("textDocument/declaration"))))
   (lambda (answers)
     (let ((outcome (eca-context-client--outcome task (car answers)))
           (declarations (seq-mapcat (lambda (answer)
                                       (and (eca-context-client--found-p answer)
                                            (eca-context-client--list (car answer))))
                                     (cdr answers))))
       (eca-context-client--end task
                                (append outcome
                                        (and declarations
                                             (list :declarations (vconcat declarations)))))))))

(defun eca-context-client-get (object key)
  "Return the value of KEY, a keyword, in OBJECT, a hash table or plist."
  (cond ((hash-table-p object) (gethash (substring (symbol-name key) 1) object))
        ((consp object) (plist-get object key))))

(defun eca-context-client--list (result)
  "Return RESULT, a location or a sequence of them, as a list."
  (if (or (hash-table-p result) (keywordp (car-safe result)))
      (list result)
    (append result nil)))

(defun eca-context-client--symbols (task)
  "Ask TASK's server for the symbols of the document."
  (eca-context-client--all
   task '(("textDocument/documentSymbol"))
   (lambda (answers)
     (eca-context-client--end task (eca-context-client--outcome task (car answers))))))

(defun eca-context-client--documentation (task)
  "Ask TASK's server what is to be said of the symbol at its place."
  (let ((calls (seq-filter
                (pcase-lambda (`(,_ . ,method))
                  (eca-context-client--can-p (eca-context-client--task-client task) method))
                '(("hover" . "textDocument/hover") ("signature" . "textDocument/signatureHelp")))))
    (eca-context-client--all
     task (mapcar (lambda (call) (list (cdr call))) calls)
     (lambda (answers)
       (apply #'eca-context-client--end task
              (seq-mapn (lambda (call answer)
                          (eca-context-client--outcome task answer :role (car call)))
                        calls answers))))))

;;;; Requests

(defun eca-context-client--all (task wanted done)
  "Send what is WANTED for TASK side by side; call DONE with the list of answers.
Each is a method and what its params are beside document and position.  An
answer is a list (RESULT CODE MESSAGE)."
  (let* ((client (eca-context-client--task-client task))
         (place (eca-context-client--task-place task))
         (answers (make-list (length wanted) nil))
         (n-left (length wanted))
         (i 0))
    (pcase-dolist (`(,method . ,more) wanted)
      (let ((at i))
        (setq i (1+ i))
        (push (eca-context-client--ask
               client method
               (append (list :textDocument (list :uri (eca-context-client-uri client)))
                       (unless (equal method "textDocument/documentSymbol")
                         (list :position (list :line (car place) :character (cdr place))))
                       more)
               (eca-context-client--task-tick task)
               (lambda (&rest answer)
                 (setf (nth at answers) answer)
                 (when (and (zerop (cl-decf n-left))
                            (not (eca-context-client--task-over task)))
                   (eca-context-client--guarded task
                     (funcall done answers)))))
              (eca-context-client--task-stops task))))))

(cl-defstruct (eca-context-client--call (:copier nil))
  "A request that was sent and not answered.
KEY is what it asks, WAITERS are called with its answer, CANCEL takes it back."
  key waiters cancel)

(defvar eca-context-client--calls nil
  "The requests that were sent and not answered.")

(defun eca-context-client--ask (client method params tick done)
  "Ask the server of CLIENT by METHOD with PARAMS about the text with TICK.
Call DONE once with (RESULT CODE MESSAGE).  Return a function after which DONE
is not called any more.  A question that is under way is not asked again."
  (let* ((key (list (eca-context-client-server client) method params tick))
         (call (seq-find (lambda (call)
                           (let ((other (eca-context-client--call-key call)))
                             (and (eq (car key) (car other)) (equal (cdr key) (cdr other)))))
                         eca-context-client--calls))
         (is-new (null call)))
    (when is-new
      (setq call (make-eca-context-client--call :key key))
      (push call eca-context-client--calls))
    (push done (eca-context-client--call-waiters call))
    (when is-new
      (eca-context-client--send client call t))
    (lambda ()
      (setf (eca-context-client--call-waiters call)
            (remq done (eca-context-client--call-waiters call)))
      (when (and (memq call eca-context-client--calls)
                 (null (eca-context-client--call-waiters call)))
        (setq eca-context-client--calls (remq call eca-context-client--calls))
        (let ((cancel (eca-context-client--call-cancel call)))
          ;; Pyright, once told to cancel its search for references, fails at each later one, the
          ;; user's too.  (A new search ends its former one in any case.)
          (when (and cancel (not (equal method "textDocument/references")))
            (funcall cancel)))))))

(defvar eca-context-client--n-tokens 0
  "How many tokens were made.")

;; Without one, pyright has the user's editor show how it gets on.
(defun eca-context-client--token ()
  "Return a new token under which a server may tell how it gets on."
  (format "eca-context-%d" (cl-incf eca-context-client--n-tokens)))

(defun eca-context-client-token-p (token)
  "Return non-nil if TOKEN is of a request of ours; the user need not hear of it."
  (and (stringp token) (string-prefix-p "eca-context-" token)))

(defun eca-context-client--send (client call is-first)
  "Send CALL to the server of CLIENT; if IS-FIRST, once more when it wants that."
  (pcase-let ((`(,_ ,method ,params) (eca-context-client--call-key call)))
    (setf (eca-context-client--call-cancel call)
          (funcall
           (eca-context-client-send client) method
           (append params (list :workDoneToken (eca-context-client--token)))
           (lambda (result code message)
             (when (memq call eca-context-client--calls)
               (eca-context-client--move result (eca-context-client-host client))
               ;; The text changed, or the server was busy with something else.
               (if (and is-first (memql code '(-32801 -32802)))
                   (eca-context-client--send client call nil)
                 (setq eca-context-client--calls (remq call eca-context-client--calls))
                 (dolist (waiter (reverse (eca-context-client--call-waiters call)))
                   (funcall waiter result code message)))))))))

;;;; Other machines

(defun eca-context-client--move (result host)
  "Let the places in RESULT name files as they are called here, on HOST."
  (when host
    (dolist (location (and result (eca-context-client--list result)))
      (dolist (key '(:uri :targetUri))
        (let ((uri (eca-context-client-get location key)))
          (when (and (stringp uri) (string-match "\\`file://\\(/.*\\)" uri))
            (let ((here (concat "file://" (url-hexify-string host (cons ?/ url-unreserved-chars))
                                (match-string 1 uri))))
              (if (hash-table-p location)
                  (puthash (substring (symbol-name key) 1) here location)
                (plist-put location key here)))))))))

(provide 'eca-context-client)
;;; eca-context-client.el ends here
