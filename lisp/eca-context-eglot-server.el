;;; eca-context-eglot-server.el --- Talk to eglot's servers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Which server is whose, what it can, and how it is asked without the user noticing.  All the names of
;; eglot (1.9 to 1.17) stand in the files eca-context-eglot*; they never load it.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'eca-context-job)

(declare-function eieio-oset "ext:eieio-core" t t)
(declare-function jsonrpc--process "ext:jsonrpc" t t)
(declare-function jsonrpc-running-p "ext:jsonrpc" t t)
(declare-function jsonrpc-async-request "ext:jsonrpc" t t)
(declare-function jsonrpc-last-error "ext:jsonrpc" t t)
(declare-function jsonrpc--next-request-id "ext:jsonrpc" t t)
(declare-function jsonrpc-notify "ext:jsonrpc" t t)
(declare-function eglot-managed-p "ext:eglot" t t)
(declare-function eglot-current-server "ext:eglot" t t)
(declare-function eglot--signal-textDocument/didChange "ext:eglot" t t)
(declare-function eglot--capabilities "ext:eglot" t t)
(declare-function eglot--current-project "ext:eglot" t t)
(declare-function eglot--language-id "ext:eglot" t t)
(declare-function eglot--languages "ext:eglot" t t)
(declare-function eglot--major-modes "ext:eglot" t t)
(declare-function eglot--project "ext:eglot" t t)
(declare-function eglot--server-info "ext:eglot" t t)
(declare-function major-mode-remap "ext:files" t t)
(declare-function project-root "ext:project" t t)
(defvar eglot--servers-by-project)
(defvar major-mode-remap-alist)

(defconst eca-context-eglot--needed
  '((eglot-managed-p) (eglot-current-server) (eglot-handle-notification)
    (eglot--signal-textDocument/didOpen) (eglot--signal-textDocument/didChange)
    (eglot--capabilities) (eglot--current-project) (eglot--major-modes) (eglot--managed-buffers)
    (eglot--project) (eglot--server-info)
    (eglot-uri-to-path eglot--uri-to-path) (eglot-path-to-uri eglot--path-to-uri)
    (eglot--languages eglot--language-id))
  "Functions of eglot that are needed, one of each list.")

(defconst eca-context-eglot--needed-variables
  '(eglot--current-flymake-report-fn eglot--diagnostics eglot--servers-by-project eglot--versioned-identifier)
  "Variables of eglot that are needed.")

(defconst eca-context-eglot--patience 2
  "Seconds to wait for a server that may have nothing to say, or is starting.")

(defun eca-context-eglot-missing ()
  "Return the names that the loaded eglot lacks, a list; nil if there is no eglot."
  (and (featurep 'eglot)
       (append (mapcar #'car (seq-remove (lambda (names) (seq-some #'fboundp names))
                                         eca-context-eglot--needed))
               (seq-remove #'boundp eca-context-eglot--needed-variables))))

(defun eca-context-eglot--usable-p ()
  "Return non-nil if eglot is loaded and has all that is needed."
  (and (featurep 'eglot) (null (eca-context-eglot-missing))))

(defun eca-context-eglot--managed-p ()
  "Return non-nil if eglot manages the current buffer."
  (and (fboundp 'eglot-managed-p) (eglot-managed-p)))

(defmacro eca-context-eglot--guarded (&rest body)
  "Evaluate BODY for eglot's eyes: no error, match data as before."
  (declare (indent 0) (debug (body)))
  `(when (eca-context-eglot--usable-p)
     (condition-case nil
         (save-match-data ,@body)
       (error nil))))

(defvar eca-context-eglot--speakers (make-hash-table :test #'eq :weakness 'key)
  "Servers that have published something: `versions' if they name them, else t.")

;;;; Outcomes

(defun eca-context-eglot--failure (status reason)
  "Return an outcome with STATUS and REASON, worth asking again."
  (list :provider "eglot" :kind "semantic" :status status :reason reason :retry t))

(defun eca-context-eglot--limit (deadline)
  "Return until when to wait, a `float-time', to answer before DEADLINE or nil."
  (+ (float-time) (if deadline (* 0.9 (max 0 (- deadline (float-time)))) 0)))

;;;; Providers

(defun eca-context-eglot--provide (request callback ask)
  "Return the answer of ASK about the current buffer, if a server manages it.
ASK is called with REQUEST and CALLBACK where one does, now or when it has
started; that is waited for no longer than the patience.  Nil if none does."
  (save-restriction
    (widen)
    (cond
     ((not (and (featurep 'eglot) buffer-file-name)) nil)
     ((not (eca-context-eglot--usable-p))
      (and (eca-context-eglot--managed-p)
           (eca-context-eglot--failure
            "error" (format "this eglot lacks %s" (car (eca-context-eglot-missing))))))
     ((eca-context-eglot--managed-p) (funcall ask request callback))
     ((eca-context-eglot--starting-p)
      (eca-context-eglot--await-start request callback ask)))))

(defun eca-context-eglot--await-start (request callback ask)
  "Return `:async'; answer REQUEST by CALLBACK with ASK once the server is running."
  (let ((limit (eca-context-eglot--limit (plist-get request :deadline))))
    (eca-context-job-await
     (min limit (+ (float-time) eca-context-eglot--patience))
     (let ((buffer (current-buffer)))
       (lambda ()
         (cond ((eca-context-eglot--managed-p) buffer)
               ((not (eca-context-eglot--starting-p)) 'gone))))
     (lambda (buffer)
       (let ((said (if (not (bufferp buffer))
                       (eca-context-eglot--failure
                        (if buffer "error" "starting")
                        (if buffer "the language server did not start"
                          "the language server is starting"))
                     (with-current-buffer buffer
                       (condition-case err
                           (funcall ask request callback)
                         (error (eca-context-eglot--failure
                                 "error" (error-message-string err))))))))
         (unless (eq said :async)
           (funcall callback said)))))))

;;;; Which server

(defun eca-context-eglot--live-server ()
  "Return the running server that manages the current buffer, or nil."
  (and (eca-context-eglot--managed-p)
       (let ((server (eglot-current-server)))
         (and server (jsonrpc-running-p server) server))))

(defun eca-context-eglot--starting-p ()
  "Return non-nil if a server for the current buffer is being started."
  (let ((servers (seq-filter
                  (lambda (server)
                    (and (null (eglot--capabilities server))
                         (eca-context-eglot--language server major-mode)))
                  (delq nil (mapcar (lambda (process)
                                      (and (process-live-p process)
                                           (string-prefix-p "EGLOT " (process-name process))
                                           (process-get process 'jsonrpc-connection)))
                                    (process-list))))))
    (and servers
         (let ((project (eglot--current-project)))
           (seq-some (lambda (server) (equal (eglot--project server) project)) servers)))))

(defun eca-context-eglot--server-of (path)
  "Return (SERVER . LANGUAGE-ID) for PATH among the running servers, or nil.
Of several projects that hold PATH the innermost counts."
  (let* ((mode (and (> (hash-table-count eglot--servers-by-project) 0)
                    (eca-context-eglot--mode path)))
         (true (and mode (file-truename path)))
         (best "")
         found)
    (when mode
      (maphash
       (lambda (_project servers)
         (dolist (server servers)
           (let ((root (file-name-as-directory
                        (file-truename (project-root (eglot--project server)))))
                 (language (eca-context-eglot--language server mode)))
             (when (and language
                        (jsonrpc-running-p server)
                        (eglot--capabilities server)
                        (string-prefix-p root true)
                        (> (length root) (length best)))
               (setq best root
                     found (cons server language))))))
       eglot--servers-by-project))
    found))

(defun eca-context-eglot-serves-p (path)
  "Return non-nil if eglot has, or will have, a server for PATH and its language.
The current buffer holds the text of PATH."
  (and (eca-context-eglot--usable-p)
       (or (eca-context-eglot--managed-p)
           (eca-context-eglot--starting-p)
           (eca-context-eglot--server-of path))
       t))

(defun eca-context-eglot--language (server mode)
  "Return the language identifier that SERVER knows MODE by, nil if it does not."
  (if-let ((managed (seq-find (lambda (managed)
                                (or (eq mode managed) (provided-mode-derived-p mode managed)))
                              (eca-context-eglot--modes server))))
      (if (fboundp 'eglot--languages)
          (cdr (assq managed (eglot--languages server)))
        (eglot--language-id server))
    ;; A header may be either; the server tells by how it compiles it.
    (and (memq mode '(c-or-c++-mode c-or-c++-ts-mode))
         (seq-some (lambda (mode) (eca-context-eglot--language server mode))
                   '(c++-mode c-mode c++-ts-mode c-ts-mode)))))

(defun eca-context-eglot--modes (server)
  "Return the major modes that SERVER serves."
  (let ((modes (eglot--major-modes server)))
    (if (listp modes) modes (list modes))))

(defun eca-context-eglot--mode (path)
  "Return the major mode that the name PATH stands for, or nil."
  (let* ((case-fold-search nil)
         (mode (assoc-default (file-name-sans-versions path) auto-mode-alist #'string-match)))
    (when (and mode (symbolp mode))
      (setq mode (cond ((fboundp 'major-mode-remap) (major-mode-remap mode))
                       ((boundp 'major-mode-remap-alist)
                        (or (cdr (assq mode major-mode-remap-alist)) mode))
                       (t mode)))
      (while (and (fboundp mode) (symbolp (symbol-function mode)))
        (setq mode (symbol-function mode)))
      mode)))

;;;; Talking

(defun eca-context-eglot--capability (server name)
  "Return the value of SERVER's capability NAME, nil for no."
  (let ((value (plist-member (eglot--capabilities server) name)))
    (and value (not (eq (cadr value) :json-false)) (or (cadr value) t))))

(defun eca-context-eglot--encoding (server)
  "Return how SERVER counts characters: \"utf-16\", \"utf-8\" or \"utf-32\"."
  (let ((encoding (eca-context-eglot--capability server :positionEncoding)))
    (if (member encoding '("utf-8" "utf-32")) encoding "utf-16")))

(defun eca-context-eglot--name (server)
  "Return the name that SERVER gives itself, else that of its program, or nil."
  (let ((name (plist-get (eglot--server-info server) :name))
        (program (car-safe (process-command (jsonrpc--process server)))))
    (cond ((stringp name) name)
          ((stringp program) (file-name-base program)))))

(defun eca-context-eglot--versions-p (server)
  "Return non-nil if SERVER is known to name versions."
  (eq (gethash server eca-context-eglot--speakers) 'versions))

(defun eca-context-eglot--path (uri)
  "Return the absolute file name that URI names."
  (expand-file-name (funcall (if (fboundp 'eglot-uri-to-path) 'eglot-uri-to-path
                               'eglot--uri-to-path)
                             uri)))

(defun eca-context-eglot--uri (path)
  "Return the URI by which servers know the file PATH."
  (funcall (if (fboundp 'eglot-path-to-uri) 'eglot-path-to-uri 'eglot--path-to-uri) path))

(defun eca-context-eglot--ask (server method params done)
  "Ask SERVER by METHOD with PARAMS; call DONE once with its answer.
DONE gets (RESULT CODE MESSAGE); CODE is an error's, or nil.  Return a function
that cancels the request, or nil where it was not sent.  The last error, which
eglot shows in the mode line, stays what it was."
  (let* ((last-error (jsonrpc-last-error server))
         (id (and (fboundp 'jsonrpc--next-request-id)
                  (1+ (jsonrpc--next-request-id server))))
         (say (lambda (&rest arguments)
                (condition-case nil
                    (save-match-data (apply done arguments))
                  (error nil)))))
    (condition-case err
        (progn
          (jsonrpc-async-request
           server method params
           :success-fn (lambda (result) (funcall say result nil nil))
           :error-fn (lambda (err)
                       (when (equal (jsonrpc-last-error server) err)
                         (eieio-oset server 'last-error last-error))
                       (funcall say nil (or (plist-get err :code) -1) (plist-get err :message)))
           ;; Its timer would outlive our answer.
           :timeout nil)
          (lambda ()
            (when (and id (jsonrpc-running-p server))
              (jsonrpc-notify server :$/cancelRequest (list :id id)))))
      (error (funcall say nil -1 (error-message-string err))
             nil))))

(defun eca-context-eglot--touch (server uri done)
  "Call DONE when SERVER has answered some question about URI sent now."
  (let ((document (list :uri uri)))
    (if (or (eca-context-eglot--capability server :hoverProvider)
            (not (eca-context-eglot--capability server :documentSymbolProvider)))
        (eca-context-eglot--ask server :textDocument/hover
                                (list :textDocument document :position '(:line 0 :character 0))
                                (lambda (&rest _) (funcall done)))
      (eca-context-eglot--ask server :textDocument/documentSymbol (list :textDocument document)
                              (lambda (&rest _) (funcall done))))))

(provide 'eca-context-eglot-server)
;;; eca-context-eglot-server.el ends here
