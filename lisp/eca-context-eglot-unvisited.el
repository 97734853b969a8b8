;;; eca-context-eglot-unvisited.el --- What eglot's servers say of files nobody visits  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A file nobody visits is opened at its running server without a buffer, and closed again.  What
;; flymake lists of it stays as it was.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'flymake)
(require 'eca-context-eglot-diagnostics)
(require 'eca-context-eglot-server)
(require 'eca-context-job)

(declare-function jsonrpc-notify "ext:jsonrpc" t t)
(declare-function jsonrpc-running-p "ext:jsonrpc" t t)

(cl-defstruct (eca-context-eglot--open (:copier nil))
  "A file, true name TRUE, with TEXT, that is open at SERVER without a buffer.
It is known there as URI, and waited for by N-ASKERS.  LISTED is what flymake
listed of it before.  STATE is nil, then `said' when the server SAID (a
list in DIAGNOSTICS) what holds for this text, or `closed'; CHECKED that it was
asked something for that, and PASSED that it has answered.  SETTLED is as `eca-context-eglot--settling' returns."
  server true uri text listed (n-askers 0) state said diagnostics settled checked passed)

(defvar eca-context-eglot--opens nil
  "The files that are open at a server without a buffer.")

(defvar eca-context-eglot--closed (make-hash-table :test #'eq :weakness 'key)
  "For each server the files that it is closing, (TRUE . LISTED) each.")

(defun eca-context-eglot-diagnostics-of-file (path callback deadline)
  "Ask the running server of PATH's project for the diagnostics of PATH.
Return nil if there is none for its language, or if a buffer visits PATH.  Else
call CALLBACK once, before DEADLINE, a `float-time', with the outcome.  The
server is shown the text on disk, and no buffer is made."
  (when-let ((open (eca-context-eglot--show path)))
    (let* ((limit (eca-context-eglot--limit deadline))
           (silence (if (gethash (eca-context-eglot--open-server open)
                                 eca-context-eglot--speakers)
                        limit
                      (+ (float-time) eca-context-eglot--patience))))
      (eca-context-eglot--check open)
      (eca-context-job-await
       (min limit silence)
       (lambda ()
         (or (eq (eca-context-eglot--open-state open) 'closed)
             (and (eca-context-eglot--open-state open)
                  (eca-context-eglot--settled-p (eca-context-eglot--open-settled open)))
             (not (jsonrpc-running-p (eca-context-eglot--open-server open)))))
       (lambda (_)
         (let ((outcome (condition-case err
                            (eca-context-eglot--open-outcome open path)
                          (error (eca-context-eglot--failure "error"
                                                             (error-message-string err))))))
           (eca-context-eglot--leave open)
           (funcall callback outcome)))))))

(defun eca-context-eglot--show (path)
  "Open the file PATH at the running server of its project; return that, or nil.
Nil if there is no such server, or if a buffer visits PATH.  It is open until as
many as have called this have called `eca-context-eglot--leave'."
  (when-let* ((served (and (eca-context-eglot--usable-p)
                           (not (find-buffer-visiting path))
                           (eca-context-eglot--server-of path)))
              (open (condition-case nil
                        (eca-context-eglot--open (car served) (cdr served) (file-truename path))
                      (error nil))))
    (cl-incf (eca-context-eglot--open-n-askers open))
    open))

(defun eca-context-eglot--leave (open)
  "Close OPEN unless somebody else needs it."
  (when (zerop (cl-decf (eca-context-eglot--open-n-askers open)))
    (eca-context-eglot--close open)))

(defun eca-context-eglot--open-of (server true)
  "Return the file TRUE that is open at SERVER without a buffer, or nil."
  (seq-find (lambda (open)
              (and (eq server (eca-context-eglot--open-server open))
                   (equal true (eca-context-eglot--open-true open))))
            eca-context-eglot--opens))

(defun eca-context-eglot--open (server language true)
  "Open the file TRUE in LANGUAGE at SERVER, if it is not, and return it."
  (or (eca-context-eglot--open-of server true)
      (let* ((text (with-temp-buffer
                     (insert-file-contents true)
                     (buffer-string)))
             (open (make-eca-context-eglot--open
                    :server server :true true :text text :uri (eca-context-eglot--uri true)
                    :listed (if-let ((closed (assoc true (gethash server
                                                                  eca-context-eglot--closed))))
                                (cdr closed)
                              (assoc true flymake-list-only-diagnostics))))
             (uri (eca-context-eglot--open-uri open)))
        (jsonrpc-notify server :textDocument/didOpen
                        (list :textDocument (list :uri uri :languageId language :version 0
                                                  :text text)))
        (push open eca-context-eglot--opens)
        open)))

(defun eca-context-eglot--check (open)
  "Have the diagnostics of OPEN told by its server; once is enough."
  (let ((server (eca-context-eglot--open-server open))
        (uri (eca-context-eglot--open-uri open)))
    (unless (eca-context-eglot--open-checked open)
      (setf (eca-context-eglot--open-checked open) t)
      (unless (eca-context-eglot--versions-p server)
        (eca-context-eglot--touch
         server uri (lambda () (setf (eca-context-eglot--open-passed open) t))))
      (when (eca-context-eglot--capability server :diagnosticProvider)
        (eca-context-eglot--pull-uri
         server uri
         (lambda (diagnostics)
           (unless (eca-context-eglot--open-state open)
             (setf (eca-context-eglot--open-said open) t
                   (eca-context-eglot--open-diagnostics open) diagnostics
                   (eca-context-eglot--open-settled open) '(t)
                   (eca-context-eglot--open-state open) 'said))))))))

(defun eca-context-eglot--hear (open version diagnostics)
  "Note that the server of OPEN published DIAGNOSTICS in VERSION, or nil."
  (eca-context-eglot--list-again (eca-context-eglot--open-true open)
                                 (eca-context-eglot--open-listed open))
  (let ((server (eca-context-eglot--open-server open)))
    ;; Without a version the empty list may be the echo of an earlier close.
    (when (cond (version (eql version 0))
                ((not (eca-context-eglot--versions-p server))
                 (or (eca-context-eglot--open-passed open) (> (length diagnostics) 0))))
      (setf (eca-context-eglot--open-said open) t
            (eca-context-eglot--open-diagnostics open) diagnostics
            (eca-context-eglot--open-settled open) (eca-context-eglot--settling
                                                    server (eca-context-eglot--open-uri open)))
      (unless (eca-context-eglot--open-state open)
        (setf (eca-context-eglot--open-state open) 'said)))))

(defun eca-context-eglot--open-outcome (open path)
  "Return what is known of OPEN, the file PATH."
  (let ((server (eca-context-eglot--open-server open)))
    (cond
     ((eca-context-eglot--open-said open)
      (eca-context-eglot--outcome
       (and (eq (eca-context-eglot--open-state open) 'said)
            (eca-context-eglot--settled-p (eca-context-eglot--open-settled open)))
       (with-temp-buffer
         (insert (eca-context-eglot--open-text open))
         (eca-context-eglot--items server path (eca-context-eglot--open-diagnostics open)))))
     ((eca-context-eglot--open-state open)
      (eca-context-eglot--failure "busy" "the file was opened by the user meanwhile"))
     ((jsonrpc-running-p server)
      (eca-context-eglot--failure "timeout" "the language server did not speak of it in time"))
     (t (eca-context-eglot--failure "error" "the language server is gone")))))

(defun eca-context-eglot--close (open)
  "Close OPEN at its server, unless that was done."
  (when (memq open eca-context-eglot--opens)
    (setq eca-context-eglot--opens (delq open eca-context-eglot--opens))
    (setf (eca-context-eglot--open-state open) 'closed)
    (let* ((server (eca-context-eglot--open-server open))
           (uri (eca-context-eglot--open-uri open))
           (closing (cons (eca-context-eglot--open-true open)
                          (eca-context-eglot--open-listed open))))
      (when (jsonrpc-running-p server)
        (push closing (gethash server eca-context-eglot--closed))
        (condition-case nil
            (jsonrpc-notify server :textDocument/didClose (list :textDocument (list :uri uri)))
          (error nil))
        (eca-context-eglot--touch
         server uri
         (lambda ()
           (puthash server (delq closing (gethash server eca-context-eglot--closed))
                    eca-context-eglot--closed)))))))

(defun eca-context-eglot--echo (server true diagnostics)
  "Take back what DIAGNOSTICS of TRUE, the echo of a close at SERVER, changed."
  (when-let ((closing (assoc true (gethash server eca-context-eglot--closed))))
    (when (zerop (length diagnostics))
      (eca-context-eglot--list-again true (cdr closing)))))

(defun eca-context-eglot--list-again (true listed)
  "Let flymake list of the file TRUE what it LISTED before, an entry or nil."
  (setq flymake-list-only-diagnostics
        (append (and listed (list listed))
                (assoc-delete-all true flymake-list-only-diagnostics))))

(provide 'eca-context-eglot-unvisited)
;;; eca-context-eglot-unvisited.el ends here
