;;; eca-context-eglot.el --- What eglot's servers say of a file  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Diagnostics as the server published them, and whether they are about the present text: a publish of
;; the flushed version, or, where the server names no versions, one that came after the answer to a
;; request that was sent after the change.  The text counts, not the edit: an edit that is undone is
;; answered by what was said before.  A file nobody visits is opened at its running server without a
;; buffer, and closed again.
;;
;; The only file that names what belongs to eglot (1.9 to 1.17); it never loads it.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'eca-context-job)
(require 'eca-context-position)
(require 'eca-context-flymake)

(declare-function eieio-oset "ext:eieio-core" t t)
(declare-function jsonrpc-running-p "ext:jsonrpc" t t)
(declare-function jsonrpc-async-request "ext:jsonrpc" t t)
(declare-function jsonrpc-notify "ext:jsonrpc" t t)
(declare-function jsonrpc-last-error "ext:jsonrpc" t t)
(declare-function eglot-managed-p "ext:eglot" t t)
(declare-function eglot-current-server "ext:eglot" t t)
(declare-function eglot--signal-textDocument/didChange "ext:eglot" t t)
(declare-function eglot--capabilities "ext:eglot" t t)
(declare-function eglot--current-project "ext:eglot" t t)
(declare-function eglot--language-id "ext:eglot" t t)
(declare-function eglot--languages "ext:eglot" t t)
(declare-function eglot--major-modes "ext:eglot" t t)
(declare-function eglot--managed-buffers "ext:eglot" t t)
(declare-function eglot--project "ext:eglot" t t)
(declare-function eglot--server-info "ext:eglot" t t)
(declare-function major-mode-remap "ext:files" t t)
(declare-function project-root "ext:project" t t)
(defvar eca-context-diagnostics-functions)
(defvar eglot--current-flymake-report-fn)
(defvar eglot--diagnostics)
(defvar eglot--servers-by-project)
(defvar eglot--versioned-identifier)
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

;;;; What is known

(cl-defstruct (eca-context-eglot--record (:copier nil))
  "What SERVER SAID last of the buffer that visits FILE, true name TRUE.
DIAGNOSTICS are the server's own.  HASH is of the text they are about, nil if
that is not known.  The rest are ticks, each the last at which the text was
FRESH, that is, that one; was OTHER; was TOLD to the server; a question was SENT
after that, and its answer PASSED; diagnostics were PULLED; and at which we
GAVE-UP waiting.  SETTLED is as `eca-context-eglot--settling' returns."
  server file true said diagnostics hash settled fresh other told sent passed pulled gave-up)

(defvar eca-context-eglot--records (make-hash-table :test #'eq :weakness 'key)
  "The record of each buffer.")

(defvar eca-context-eglot--speakers (make-hash-table :test #'eq :weakness 'key)
  "Servers that have published something: `versions' if they name them, else t.")

(cl-defstruct (eca-context-eglot--open (:copier nil))
  "A file, true name TRUE, with TEXT, that is open at SERVER without a buffer.
It is known there as URI, and waited for by N-ASKERS.  LISTED is what flymake
listed of it before.  STATE is nil, then `said' when the server SAID (a
list in DIAGNOSTICS) what holds for this text, or `closed'; PASSED that it has
answered some question.  SETTLED is as `eca-context-eglot--settling' returns."
  server true uri text listed (n-askers 0) state said diagnostics settled passed)

(defvar eca-context-eglot--opens nil
  "The files that are open at a server without a buffer.")

(defvar eca-context-eglot--closed (make-hash-table :test #'eq :weakness 'key)
  "For each server the files that it is closing, (TRUE . LISTED) each.")

;;;; The provider

(defun eca-context-eglot-diagnostics (request callback)
  "Return the diagnostics of the current buffer's server, an outcome, or nil.
REQUEST is a plist: `:path' of the file, and `:deadline', a `float-time'.  What
the server has not been told is sent.  Until it has spoken about the present
text, return `:async', and call CALLBACK once it has, or shortly before the
deadline.  The places are the server's own: some may lie beyond the text."
  (save-restriction
    (widen)
    (cond
     ((not (and (featurep 'eglot) buffer-file-name)) nil)
     ((not (eca-context-eglot--usable-p))
      (and (eca-context-eglot--managed-p)
           (eca-context-eglot--failure
            "error" (format "this eglot lacks %s" (car (eca-context-eglot-missing))))))
     ((eca-context-eglot--managed-p) (eca-context-eglot--of-buffer request callback))
     ((eca-context-eglot--starting-p) (eca-context-eglot--await-start request callback)))))

(put 'eca-context-eglot-diagnostics 'eca-context-needs 'eglot--managed-mode)

(defun eca-context-eglot--outcome (fresh items)
  "Return an outcome with ITEMS, which are about the present text if FRESH."
  (list :provider "eglot" :kind "semantic" :status "ok" :fresh (if fresh t :json-false)
        :items items))

(defun eca-context-eglot--failure (status reason)
  "Return an outcome with STATUS and REASON, worth asking again."
  (list :provider "eglot" :kind "semantic" :status status :reason reason :retry t))

(defun eca-context-eglot--limit (deadline)
  "Return until when to wait, a `float-time', to answer before DEADLINE or nil."
  (+ (float-time) (if deadline (* 0.9 (max 0 (- deadline (float-time)))) 0)))

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

(defun eca-context-eglot--await-start (request callback)
  "Return `:async'; answer REQUEST by CALLBACK once the server is running."
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
                           (eca-context-eglot--of-buffer request callback)
                         (error (eca-context-eglot--failure
                                 "error" (error-message-string err))))))))
         (unless (eq said :async)
           (funcall callback said)))))))

(defun eca-context-eglot--of-buffer (request callback)
  "Return what REQUEST asks of the current buffer, which eglot manages.
Where the server must be waited for, return `:async' and use CALLBACK."
  (let* ((buffer (current-buffer))
         (path (or (plist-get request :path) buffer-file-name))
         (silence (+ (float-time) eca-context-eglot--patience))
         (step (lambda () (eca-context-eglot--step silence)))
         (seen (progn
                 (when (eca-context-eglot--live-server)
                   (eca-context-eglot--flush))
                 (funcall step))))
    (if seen
        (eca-context-eglot--verdict seen path)
      (eca-context-job-await
       (eca-context-eglot--limit (plist-get request :deadline)) step
       (lambda (seen)
         (funcall callback
                  (condition-case err
                      (if (buffer-live-p buffer)
                          (with-current-buffer buffer
                            (save-restriction
                              (widen)
                              (eca-context-eglot--verdict seen path)))
                        (eca-context-eglot--failure "error" "the buffer was killed"))
                    (error (eca-context-eglot--failure "error" (error-message-string err))))))))))

(defun eca-context-eglot--live-server ()
  "Return the running server that manages the current buffer, or nil."
  (and (eca-context-eglot--managed-p)
       (let ((server (eglot-current-server)))
         (and server (jsonrpc-running-p server) server))))

(defun eca-context-eglot--step (silence)
  "Return how the wait for the server of the current buffer ends, nil: not yet.
After SILENCE, a `float-time', a server that may have nothing to say is not
waited for; nor is it again for the same text."
  (let ((server (eca-context-eglot--live-server)))
    (if (null server)
        'gone
      (let ((record (eca-context-eglot--record server))
            (tick (buffer-chars-modified-tick)))
        ;; What the user types meanwhile is sent when he pauses.
        (unless (or (eql tick (eca-context-eglot--record-told record))
                    (and (not noninteractive)
                         (< (float-time (or (current-idle-time) 0)) 0.1)))
          (eca-context-eglot--flush))
        (cond
         ((eca-context-eglot--present-text-p record)
          (and (eca-context-eglot--fresh-p record) 'fresh))
         ((and (eca-context-eglot--mute-p server record)
               (or (eql tick (eca-context-eglot--record-gave-up record))
                   (and (> (float-time) silence)
                        (setf (eca-context-eglot--record-gave-up record) tick))))
          'mute)
         (t (eca-context-eglot--pull server record)
            nil))))))

(defun eca-context-eglot--mute-p (server record)
  "Return non-nil if SERVER may have nothing to say of the present text.
RECORD is that of the buffer.  A server that names no versions need not publish
an empty list anew."
  (or (not (eca-context-eglot--record-said record))
      (and (not (eca-context-eglot--versions-p server))
           (zerop (length (eca-context-eglot--record-diagnostics record))))))

(defun eca-context-eglot--verdict (seen path)
  "Return the outcome about PATH in the current buffer; SEEN ended the wait."
  (if-let ((server (and (not (eq seen 'gone)) (eca-context-eglot--live-server))))
      (let* ((record (eca-context-eglot--record server))
             (fresh (eca-context-eglot--fresh-p record)))
        (eca-context-eglot--outcome
         fresh
         (if fresh
             (eca-context-eglot--items server path (eca-context-eglot--record-diagnostics record))
           (eca-context-eglot--moved-items server path record))))
    (eca-context-eglot--failure "error" "the language server is gone")))

;;;; What was said of buffers

(defun eca-context-eglot--versions-p (server)
  "Return non-nil if SERVER is known to name versions."
  (eq (gethash server eca-context-eglot--speakers) 'versions))

(defun eca-context-eglot--record (server)
  "Return the record of the current buffer, a new one if SERVER or file is new."
  (let ((record (gethash (current-buffer) eca-context-eglot--records)))
    (if (and record
             (eq server (eca-context-eglot--record-server record))
             (equal buffer-file-name (eca-context-eglot--record-file record)))
        record
      (puthash (current-buffer)
               (make-eca-context-eglot--record
                :server server :file buffer-file-name
                :true (and buffer-file-name (file-truename buffer-file-name)))
               eca-context-eglot--records))))

(defun eca-context-eglot--fresh-p (record)
  "Return non-nil if RECORD is all there is to say of the current buffer's text."
  (and (eca-context-eglot--present-text-p record)
       (eca-context-eglot--settled-p (eca-context-eglot--record-settled record))))

(defun eca-context-eglot--present-text-p (record)
  "Return non-nil if RECORD is about the present text of the current buffer."
  (let ((tick (buffer-chars-modified-tick)))
    (and (eca-context-eglot--record-hash record)
         (not (eql tick (eca-context-eglot--record-other record)))
         (or (eql tick (eca-context-eglot--record-fresh record))
             (if (equal (eca-context-eglot--record-hash record) (buffer-hash))
                 (setf (eca-context-eglot--record-fresh record) tick)
               (setf (eca-context-eglot--record-other record) tick)
               nil)))))

(defun eca-context-eglot--say (record diagnostics is-present settled)
  "Note in RECORD that the server said DIAGNOSTICS of the current buffer.
IS-PRESENT tells whether that is about its present text; SETTLED is as
`eca-context-eglot--settling' returns."
  (setf (eca-context-eglot--record-settled record) settled
        (eca-context-eglot--record-said record) t
        (eca-context-eglot--record-diagnostics record) diagnostics
        (eca-context-eglot--record-hash record) (and is-present (buffer-hash))
        (eca-context-eglot--record-fresh record) (and is-present (buffer-chars-modified-tick))
        (eca-context-eglot--record-other record) nil))

(defun eca-context-eglot--flush ()
  "Send what the server of the current buffer has not been told of its text."
  (eglot--signal-textDocument/didChange)
  (eca-context-eglot--flushed))

(defun eca-context-eglot--flushed ()
  "Note that the server of the current buffer has been told of all its text.
One that may name no versions is asked something, so that publishes from before
its answer are known; nothing twice for the same text."
  (when-let ((server (eca-context-eglot--live-server)))
    (let ((record (eca-context-eglot--record server))
          (tick (buffer-chars-modified-tick)))
      (setf (eca-context-eglot--record-told record) tick)
      (unless (eca-context-eglot--versions-p server)
        (unless (eql tick (eca-context-eglot--record-sent record))
          (setf (eca-context-eglot--record-sent record) tick)
          (eca-context-eglot--touch
           server (eca-context-eglot--uri (eca-context-eglot--record-true record))
           (lambda ()
             (when (eql tick (eca-context-eglot--record-sent record))
               (setf (eca-context-eglot--record-passed record) tick)))))))))

(defun eca-context-eglot--present-p (server record version diagnostics)
  "Return non-nil if a publish of SERVER is about the present text.
RECORD is that of the current buffer; the publish had VERSION, or nil, and
DIAGNOSTICS."
  (and (eql (buffer-chars-modified-tick) (eca-context-eglot--record-told record))
       (cond
        (version (eql version eglot--versioned-identifier))
        ((eca-context-eglot--versions-p server) nil)
        ((eql (buffer-chars-modified-tick) (eca-context-eglot--record-passed record)))
        ;; Never changed since it was opened; only the empty list may be the echo of a close.
        (t (and (eql 0 eglot--versioned-identifier)
                (> (length diagnostics) 0))))))

;;;; Talking to servers

(defun eca-context-eglot--ask (server method params done)
  "Ask SERVER by METHOD with PARAMS; call DONE with its answer, or nil, once.
DONE gets nil and the error's code when it is one.  The last error, which eglot
shows in the mode line, stays what it was."
  (let* ((last-error (jsonrpc-last-error server))
         (say (lambda (&rest arguments)
                (condition-case nil
                    (save-match-data (apply done arguments))
                  (error nil)))))
    (condition-case nil
        (jsonrpc-async-request
         server method params
         :success-fn (lambda (result) (funcall say result nil))
         :error-fn (lambda (err)
                     (when (equal (jsonrpc-last-error server) err)
                       (eieio-oset server 'last-error last-error))
                     (funcall say nil (or (plist-get err :code) -1)))
         ;; Its timer would outlive our answer.
         :timeout nil)
      (error nil))))

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

;; typescript-language-server publishes what the parser found, then, when the types are checked, all of
;; it: 50 ms after the one and the other, and the empty list of the first is no clean file.  What it is
;; asked meanwhile it answers when the types are checked.
(defconst eca-context-eglot--echo-time 0.075
  "Seconds within which a publish may follow an answer that it precedes.")

(defun eca-context-eglot--settling (server uri)
  "Return a list of the time from which on a publish of URI by SERVER is whole.
It is nil until SERVER has answered a question sent now; one that names versions
publishes each once."
  (if (eca-context-eglot--versions-p server)
      (list 0)
    (let ((settled (list nil)))
      (eca-context-eglot--touch
       server uri
       (lambda () (setcar settled (+ (float-time) eca-context-eglot--echo-time))))
      settled)))

(defun eca-context-eglot--settled-p (settled)
  "Return non-nil if the time has come that SETTLED is about."
  (and (car settled) (>= (float-time) (car settled))))

(defun eca-context-eglot--capability (server name)
  "Return the value of SERVER's capability NAME, nil for no."
  (let ((value (plist-member (eglot--capabilities server) name)))
    (and value (not (eq (cadr value) :json-false)) (or (cadr value) t))))

(defun eca-context-eglot--pull (server record)
  "Ask SERVER for the diagnostics of the current buffer, once for each text.
Nothing is asked of one that only publishes.  They go into RECORD."
  (let ((tick (buffer-chars-modified-tick))
        (buffer (current-buffer)))
    (when (and (eql tick (eca-context-eglot--record-told record))
               (not (eql tick (eca-context-eglot--record-pulled record)))
               (eca-context-eglot--capability server :diagnosticProvider))
      (setf (eca-context-eglot--record-pulled record) tick)
      (eca-context-eglot--pull-uri
       server (eca-context-eglot--uri (eca-context-eglot--record-true record))
       (lambda (diagnostics)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (when (and (eql tick (buffer-chars-modified-tick))
                        (not (eca-context-eglot--fresh-p record)))
               (eca-context-eglot--say record diagnostics t '(0))))))))))

(defun eca-context-eglot--pull-uri (server uri done &optional is-last)
  "Ask SERVER for the diagnostics of URI; call DONE with them if it gives any.
When the server wants to be asked again it is, unless IS-LAST."
  (let ((identifier (plist-get (eca-context-eglot--options server) :identifier)))
    (eca-context-eglot--ask
     server :textDocument/diagnostic
     (append (list :textDocument (list :uri uri))
             (and (stringp identifier) (list :identifier identifier)))
     (lambda (result code)
       (cond ((and (memql code '(-32801 -32802)) (not is-last))
              (eca-context-eglot--pull-uri server uri done t))
             ((and (null code) (vectorp (plist-get result :items)))
              (funcall done (plist-get result :items))))))))

(defun eca-context-eglot--options (server)
  "Return SERVER's options for diagnostics that are asked for, or nil."
  (let ((options (eca-context-eglot--capability server :diagnosticProvider)))
    (and (consp options) options)))

(defun eca-context-eglot--path (uri)
  "Return the absolute file name that URI names."
  (expand-file-name (funcall (if (fboundp 'eglot-uri-to-path) 'eglot-uri-to-path
                               'eglot--uri-to-path)
                             uri)))

(defun eca-context-eglot--uri (path)
  "Return the URI by which servers know the file PATH."
  (funcall (if (fboundp 'eglot-path-to-uri) 'eglot-path-to-uri 'eglot--path-to-uri) path))

;;;; Watching

(defconst eca-context-eglot--advice
  '((eglot-handle-notification :around eca-context-eglot--notified)
    (eglot--signal-textDocument/didOpen :before eca-context-eglot--make-way)
    (eglot--signal-textDocument/didOpen :after eca-context-eglot--sent)
    (eglot--signal-textDocument/didChange :after eca-context-eglot--sent))
  "Each advice: a function of eglot's, where, and the function.")

(defun eca-context-eglot-watch ()
  "Note from now on what eglot's servers publish, eglot loaded or not."
  (pcase-dolist (`(,name ,where ,function) eca-context-eglot--advice)
    (advice-add name where function)))

(defun eca-context-eglot-unwatch ()
  "Note no more what eglot's servers publish, and forget what was noted."
  (pcase-dolist (`(,name ,_ ,function) eca-context-eglot--advice)
    (advice-remove name function))
  (mapc #'eca-context-eglot--close (copy-sequence eca-context-eglot--opens))
  (clrhash eca-context-eglot--records)
  (clrhash eca-context-eglot--speakers))

;; eglot 1.9 signals an error where it cannot show what lies beyond the text; it was said all the same.
(defun eca-context-eglot--notified (original server method &rest params)
  "Call ORIGINAL with SERVER, METHOD and PARAMS; note what the server published."
  (unwind-protect (apply original server method params)
    (when (eq method 'textDocument/publishDiagnostics)
      (eca-context-eglot--guarded
        (eca-context-eglot--publish server (eca-context-eglot--path (plist-get params :uri))
                                    (let ((version (plist-get params :version)))
                                      (and (integerp version) version))
                                    (plist-get params :diagnostics))))))

(defun eca-context-eglot--publish (server true version diagnostics)
  "Note that SERVER published DIAGNOSTICS of the file TRUE in VERSION or nil."
  (unless (eca-context-eglot--versions-p server)
    (puthash server (if version 'versions t) eca-context-eglot--speakers))
  (let ((open (eca-context-eglot--open-of server true))
        (buffer (seq-find
                 (lambda (buffer)
                   (and (buffer-live-p buffer)
                        (with-current-buffer buffer
                          (equal true (eca-context-eglot--record-true
                                       (eca-context-eglot--record server))))))
                 (eglot--managed-buffers server))))
    (cond
     (open (eca-context-eglot--hear open version diagnostics))
     (buffer
      (with-current-buffer buffer
        (let* ((record (eca-context-eglot--record server))
               (is-present (eca-context-eglot--present-p server record version diagnostics)))
          (eca-context-eglot--say
           record diagnostics is-present
           (and is-present
                (eca-context-eglot--settling
                 server (eca-context-eglot--uri (eca-context-eglot--record-true record))))))))
     (t (eca-context-eglot--echo server true diagnostics)))))

(defun eca-context-eglot--sent (&rest _)
  "Note that the server of the current buffer was told of its text."
  (eca-context-eglot--guarded (eca-context-eglot--flushed)))

(defun eca-context-eglot--make-way (&rest _)
  "Close the file of the current buffer before eglot opens it."
  (eca-context-eglot--guarded
    (when (and eca-context-eglot--opens buffer-file-name)
      (let ((true (file-truename buffer-file-name)))
        (dolist (open (copy-sequence eca-context-eglot--opens))
          (when (equal true (eca-context-eglot--open-true open))
            (eca-context-eglot--close open)))))))

;;;; Items

(defun eca-context-eglot--items (server path diagnostics)
  "Return DIAGNOSTICS of SERVER about PATH, the text of the current buffer.
Places are the server's own, in UTF-16 units; they may lie beyond the text."
  (let ((places (eca-context-eglot--places server diagnostics)))
    (mapcar (lambda (diagnostic)
              (let ((beg (pop places))
                    (end (pop places)))
                (eca-context-eglot--item server path diagnostic beg end)))
            diagnostics)))

(defun eca-context-eglot--item (server path diagnostic beg end)
  "Return SERVER's DIAGNOSTIC of PATH as an item from BEG to END.
These are conses (LINE . CHARACTER)."
  (let ((code (plist-get diagnostic :code))
        (source (plist-get diagnostic :source))
        (message (plist-get diagnostic :message)))
    (vector path
            (pcase (plist-get diagnostic :severity)
              (2 "warning") (3 "info") (4 "hint") (_ "error"))
            (if (stringp source) source
              (let ((name (plist-get (eglot--server-info server) :name)))
                (and (stringp name) name)))
            (cond ((stringp code) code)
                  ((numberp code) (format "%s" code)))
            (vector (car beg) (cdr beg) (car end) (cdr end))
            (cond ((stringp message) message)
                  ((stringp (plist-get message :value)) (plist-get message :value))
                  (t "")))))

(defun eca-context-eglot--places (server diagnostics)
  "Return start and end of each of SERVER's DIAGNOSTICS, conses in UTF-16 units."
  (let* ((number (lambda (value) (if (natnump value) value 0)))
         (place (lambda (position)
                  (cons (funcall number (plist-get position :line))
                        (funcall number (plist-get position :character)))))
         (places (seq-mapcat (lambda (diagnostic)
                               (let ((range (plist-get diagnostic :range)))
                                 (list (funcall place (plist-get range :start))
                                       (funcall place (plist-get range :end)))))
                             diagnostics))
         (encoding (eca-context-eglot--capability server :positionEncoding)))
    (if (member encoding '("utf-8" "utf-32"))
        (eca-context-eglot--to-utf-16 encoding places)
      places)))

(defun eca-context-eglot--to-utf-16 (encoding places)
  "Return PLACES in the current buffer, counted in ENCODING, in UTF-16 units.
What lies beyond a line's end or the last line does so still."
  (let ((table (make-hash-table :test #'equal))
        (line 0)
        positions)
    (save-excursion
      (goto-char (point-min))
      ;; In order of lines, so the buffer is gone through once.
      (dolist (place (sort (copy-sequence places) (lambda (a b) (< (car a) (car b)))))
        (unless (gethash place table)
          (when (and (zerop (forward-line (- (car place) line))) (bolp))
            (setq line (car place))
            (puthash place (eca-context-eglot--at encoding (cdr place)) table)))))
    (maphash (lambda (_ at) (push (car at) positions)) table)
    (let ((swept (make-hash-table)))
      (seq-mapn (lambda (position place) (puthash position place swept))
                positions (eca-context-position-sweep positions))
      (mapcar (lambda (place)
                (let* ((at (gethash place table))
                       (to (and at (gethash (car at) swept))))
                  (if to (cons (car to) (+ (cdr to) (cdr at))) place)))
              places))))

(defun eca-context-eglot--at (encoding units)
  "Return (POSITION . EXCESS) for UNITS of ENCODING on the line at point.
EXCESS is how many units lie beyond the line's end."
  (let* ((inhibit-field-text-motion t)
         (line (buffer-substring-no-properties (point) (line-end-position)))
         (length (if (equal encoding "utf-8") (string-bytes line) (length line))))
    (cond ((> units length) (cons (line-end-position) (- units length)))
          ((= (length line) length) (cons (+ (point) units) 0))
          (t (let ((n-chars 0))
               (while (> units 0)
                 (setq units (- units (string-bytes (char-to-string (aref line n-chars))))
                       n-chars (1+ n-chars)))
               (cons (+ (point) n-chars) 0))))))

(defun eca-context-eglot--moved-items (server path record)
  "Return what SERVER said of older texts of PATH, moved with the current buffer.
RECORD is that of the buffer.  What flymake shows has moved; what it shows no
more was deleted."
  (let* ((shown (eca-context-eglot--shown))
         (places (eca-context-position-sweep
                  (mapcan (lambda (one) (list (cadr one) (cddr one))) shown)))
         (moved (mapcar (lambda (one)
                          (let ((beg (pop places))
                                (end (pop places)))
                            (eca-context-eglot--item server path (car one) beg end)))
                        shown))
         (payloads (mapcar #'car shown)))
    (append moved
            (eca-context-eglot--items
             server path
             (seq-remove (lambda (diagnostic)
                           (or (memq diagnostic payloads)
                               (eca-context-eglot--deleted-p diagnostic)))
                         (eca-context-eglot--record-diagnostics record))))))

(defun eca-context-eglot--shown ()
  "Return the server's diagnostics that are on display in the current buffer.
The value is a list of conses (DIAGNOSTIC BEG . END)."
  (let (found)
    (dolist (overlay (overlays-in (point-min) (point-max)))
      (when-let* ((shown (overlay-get overlay 'flymake-diagnostic))
                  (diagnostic (eca-context-eglot--payload shown)))
        (push (cons diagnostic (cons (overlay-start overlay) (overlay-end overlay))) found)))
    found))

(defun eca-context-eglot--payload (shown)
  "Return the server's own diagnostic of which flymake has SHOWN something, or nil."
  (let ((data (flymake-diagnostic-data shown)))
    (and (consp data) (consp (car data)) (cdr (assq 'eglot-lsp-diag data)))))

(defun eca-context-eglot--deleted-p (diagnostic)
  "Return non-nil if the text of DIAGNOSTIC, which flymake does not show, is gone.
Where flymake never showed it, that is not known."
  (and (bound-and-true-p flymake-mode)
       eglot--current-flymake-report-fn
       (when-let ((shown (seq-find (lambda (shown)
                                     (eq diagnostic (eca-context-eglot--payload shown)))
                                   eglot--diagnostics)))
         (let ((beg (flymake-diagnostic-beg shown))
               (end (flymake-diagnostic-end shown)))
           (and (integer-or-marker-p beg) (integer-or-marker-p end) (< beg end))))))

(defun eca-context-eglot--tells-p ()
  "Return non-nil if the current buffer's server is asked here.
Then flymake need not say what eglot told it."
  (and (eca-context-eglot--usable-p)
       (eca-context-eglot--managed-p)
       (boundp 'eca-context-diagnostics-functions)
       (seq-some (lambda (functions) (memq 'eca-context-eglot-diagnostics functions))
                 (list eca-context-diagnostics-functions
                       (and (memq t eca-context-diagnostics-functions)
                            (default-value 'eca-context-diagnostics-functions))))))

(put 'eglot-flymake-backend 'eca-context-told-by #'eca-context-eglot--tells-p)

;;;; Files nobody visits

(defun eca-context-eglot-diagnostics-of-file (path callback deadline)
  "Ask the running server of PATH's project for the diagnostics of PATH.
Return nil if there is none for its language, or if a buffer visits PATH.  Else
call CALLBACK once, before DEADLINE, a `float-time', with the outcome.  The
server is shown the text on disk, and no buffer is made."
  (when-let* ((served (and (eca-context-eglot--usable-p)
                           (not (find-buffer-visiting path))
                           (eca-context-eglot--server-of path)))
              (open (condition-case nil
                        (eca-context-eglot--open (car served) (cdr served) (file-truename path))
                      (error nil))))
    (let* ((limit (eca-context-eglot--limit deadline))
           (silence (if (gethash (car served) eca-context-eglot--speakers)
                        limit
                      (+ (float-time) eca-context-eglot--patience))))
      (cl-incf (eca-context-eglot--open-n-askers open))
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
           (when (zerop (cl-decf (eca-context-eglot--open-n-askers open)))
             (eca-context-eglot--close open))
           (funcall callback outcome)))))))

(defun eca-context-eglot--server-of (path)
  "Return (SERVER . LANGUAGE-ID) for PATH among the running servers, or nil.
Of several projects that hold PATH the innermost counts."
  (let ((true (file-truename path))
        (mode (eca-context-eglot--mode path))
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
                     (eca-context-eglot--open-settled open) '(0)
                     (eca-context-eglot--open-state open) 'said)))))
        open)))

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

(provide 'eca-context-eglot)
;;; eca-context-eglot.el ends here
