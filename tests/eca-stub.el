;;; eca-stub.el --- A small stand-in for eca-emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The functions of eca-emacs that eca-context touches, under their names and with their arguments, and
;; as much around them as a conversation needs.  Own work; a test holds the arguments to the real ones.

;;; Code:

(require 'cl-lib)

(cl-defstruct eca--session
  id (status 'stopped) process workspace-folders response-handlers)

(defvar eca--sessions nil
  "The sessions, conses of an id and a session.")

(defvar eca-stub-n-requests 0
  "How many requests were sent.")

(defun eca-create-session (workspace-roots)
  "Make a session for the folders WORKSPACE-ROOTS and return it."
  (let ((session (make-eca--session :id (1+ (length eca--sessions))
                                    :workspace-folders workspace-roots)))
    (push (cons (eca--session-id session) session) eca--sessions)
    session))

(defun eca-delete-session (session)
  "Forget SESSION."
  (setq eca--sessions (rassq-delete-all session eca--sessions)))

(defun eca-stub--send (session message)
  "Send MESSAGE, a plist, to the server of SESSION."
  (let ((body (encode-coding-string
               (json-serialize message :null-object nil :false-object :json-false) 'utf-8)))
    (process-send-string (eca--session-process session)
                         (format "Content-Length: %d\r\n\r\n%s" (string-bytes body) body))))

(cl-defun eca-api-request-async (session &key method params success-callback error-callback)
  "Ask the server of SESSION for METHOD with PARAMS.
One of SUCCESS-CALLBACK and ERROR-CALLBACK is called with what it answers."
  (let ((id (cl-incf eca-stub-n-requests)))
    (setf (eca--session-response-handlers session)
          (plist-put (eca--session-response-handlers session) id
                     (list success-callback error-callback)))
    (eca-stub--send session (list :jsonrpc "2.0" :method method :params params :id id))))

(cl-defun eca-api-notify (session &key method params)
  "Tell the server of SESSION METHOD with PARAMS."
  (eca-stub--send session (list :jsonrpc "2.0" :method method :params params)))

(cl-defun eca-api-send-request-response (session request response)
  "Send RESPONSE, the answer to REQUEST, to the server of SESSION."
  (eca-stub--send session (list :jsonrpc "2.0" :id (plist-get request :id) :result response)))

(defun eca--handle-server-request (_session request)
  "Return the answer to REQUEST of the server of SESSION."
  (list :stub (plist-get request :method)))

(defun eca--handle-message (session json-data)
  "Take the message JSON-DATA of the server of SESSION."
  (let ((id (plist-get json-data :id)))
    (cond
     ((and (plist-member json-data :id) (plist-get json-data :method))
      (let ((response (eca--handle-server-request session json-data)))
        (unless (eq response :async)
          (eca-api-send-request-response session json-data response))))
     ((plist-member json-data :id)
      (let ((handlers (plist-get (eca--session-response-handlers session) id)))
        (when (car handlers)
          (funcall (car handlers) (plist-get json-data :result))))))))

(defun eca-process--make-filter (handle-msg)
  "Return a process filter that calls HANDLE-MSG with each whole message."
  (let ((pending ""))
    (lambda (_process bytes)
      (setq pending (concat pending bytes))
      (let (messages n-bytes)
        (while (and (string-match "\\`Content-Length: \\([0-9]+\\)\r\n\r\n" pending)
                    (setq n-bytes (string-to-number (match-string 1 pending)))
                    (>= (length pending) (+ (match-end 0) n-bytes)))
          (let ((start (match-end 0)))
            (push (json-parse-string
                   (decode-coding-string (substring pending start (+ start n-bytes)) 'utf-8)
                   :object-type 'plist :null-object nil :false-object nil)
                  messages)
            (setq pending (substring pending (+ start n-bytes)))))
        (mapc handle-msg (nreverse messages))))))

(defun eca--initialize (session)
  "Say hello to the server of SESSION."
  (eca-api-request-async
   session
   :method "initialize"
   :params (list :capabilities
                 (list :codeAssistant (list :chat t :editor (list :diagnostics t :definition t
                                                                  :references t))))
   :success-callback (lambda (_) (eca-api-notify session :method "initialized"))))

(provide 'eca)
(provide 'eca-stub)
;;; eca-stub.el ends here
