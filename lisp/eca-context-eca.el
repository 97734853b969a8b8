;;; eca-context-eca.el --- The door of eca-emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The only file that names what belongs to eca-emacs: advice on its request handler and on the
;; capabilities it sends, added and removed by `eca-context-mode'.

;;; Code:

(require 'eca-context)
(require 'eca-context-collect)

(declare-function eca--session-process "ext:eca-util" (session) t)
(declare-function eca--session-workspace-folders "ext:eca-util" (session) t)
(defvar eca--sessions)

(defconst eca-context-eca--methods '("editor/getContext" "editor/getDiagnostics")
  "The requests that are answered here; all others are eca-emacs' own.")

(defun eca-context-eca-install ()
  "Answer the server's requests; return nil, or why that is not possible."
  (cond
   ((and (featurep 'eca)
         (not (and (fboundp 'eca--handle-server-request) (fboundp 'eca-api-request-async)
                   (fboundp 'eca--session-process) (fboundp 'eca--session-workspace-folders))))
    "this version of eca-emacs is not known; update eca-context")
   (t
    (advice-add 'eca--handle-server-request :around #'eca-context-eca--handle)
    (advice-add 'eca-api-request-async :filter-args #'eca-context-eca--request)
    (when (bound-and-true-p eca--sessions)
      (message "eca-context: M-x eca-restart makes the running server see what is answered"))
    nil)))

(defun eca-context-eca-uninstall ()
  "Leave eca-emacs as it was."
  (advice-remove 'eca--handle-server-request #'eca-context-eca--handle)
  (advice-remove 'eca-api-request-async #'eca-context-eca--request))

(defun eca-context-eca--handle (original session request)
  "Answer REQUEST of SESSION if it is ours, else call ORIGINAL."
  (if (not (member (plist-get request :method) eca-context-eca--methods))
      (funcall original session request)
    (eca-context-answer
     (plist-get request :id) (plist-get request :method) (plist-get request :params)
     (list :roots (eca--session-workspace-folders session)
           :deadline (+ (float-time) eca-context-time-limit))
     (lambda (frame)
       (let ((process (eca--session-process session)))
         (when (process-live-p process)
           (process-send-string process frame)))))
    :async))

(defun eca-context-eca--request (arguments)
  "Return ARGUMENTS of a request, `initialize' with what is answered here."
  (if (not (equal (plist-get (cdr arguments) :method) "initialize"))
      arguments
    (let ((rest (copy-tree (cdr arguments))))
      (cons (car arguments)
            (plist-put rest :params
                       (eca-context-eca--put
                        (plist-get rest :params)
                        '(:capabilities :codeAssistant :editor :context)
                        (eca-context-eca--capabilities)))))))

(defun eca-context-eca--put (plist keys value)
  "Return PLIST with VALUE under the path KEYS."
  (plist-put plist (car keys)
             (if (cdr keys)
                 (eca-context-eca--put (plist-get plist (car keys)) (cdr keys) value)
               value)))

(defun eca-context-eca--capabilities ()
  "Return the capabilities of `editor/getContext', a plist for the encoder."
  (let (capabilities)
    (dolist (feature '("symbolAtPosition" "documentSymbols" "definitions"))
      (setq capabilities
            (plist-put capabilities (intern (concat ":" feature))
                       (if (member feature eca-context-disabled-features) :json-false t))))
    (dolist (key '(:documentation :references :workspace :enclosingSymbols))
      (setq capabilities (plist-put capabilities key :json-false)))
    capabilities))

(provide 'eca-context-eca)
;;; eca-context-eca.el ends here
