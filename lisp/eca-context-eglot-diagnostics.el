;;; eca-context-eglot-diagnostics.el --- What eglot's servers say of a buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Diagnostics as the server published them, and whether they are about the present text: a publish of
;; the flushed version, or, where the server names no versions, one that came after the answer to a
;; request that was sent after the change.  The text counts, not the edit: an edit that is undone is
;; answered by what was said before.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'eca-context-eglot-server)
(require 'eca-context-moved)
(require 'eca-context-flymake)
(require 'eca-context-job)
(require 'eca-context-position)

(declare-function eglot--signal-textDocument/didChange "ext:eglot" t t)
(declare-function eglot-managed-p "ext:eglot" t t)
(defvar eca-context-diagnostics-functions)
(defvar eglot--current-flymake-report-fn)
(defvar eglot--diagnostics)
(defvar eglot--versioned-identifier)

;;;; What is known

(cl-defstruct (eca-context-eglot--record (:copier nil))
  "What SERVER SAID last of the buffer that visits FILE, true name TRUE.
DIAGNOSTICS are the server's own.  HASH is of the text they are about, nil if
that is not known, and TEXT that text, if there are any.  The rest are ticks,
each the last at which the text was FRESH, that is, that one; was OTHER; was
TOLD to the server; a question was SENT after that, and its answer PASSED;
diagnostics were PULLED; and at which we GAVE-UP waiting.  SETTLED is as `eca-context-eglot--settling' returns."
  server file true said diagnostics hash text settled fresh other told sent passed pulled gave-up)

(defvar eca-context-eglot--records (make-hash-table :test #'eq :weakness 'key)
  "The record of each buffer.")

;;;; The provider

(defun eca-context-eglot-diagnostics (request callback)
  "Return the diagnostics of the current buffer's server, an outcome, or nil.
REQUEST is a plist: `:path' of the file, and `:deadline', a `float-time'.  What
the server has not been told is sent.  Until it has spoken about the present
text, return `:async', and call CALLBACK once it has, or shortly before the
deadline.  The places are the server's own: some may lie beyond the text."
  (eca-context-eglot--provide request callback #'eca-context-eglot--of-buffer))

(put 'eca-context-eglot-diagnostics 'eca-context-needs 'eglot--managed-mode)

(defun eca-context-eglot--outcome (fresh items)
  "Return an outcome with ITEMS, which are about the present text if FRESH."
  (list :provider "eglot" :kind "semantic" :status "ok" :fresh (if fresh t :json-false)
        :items items))

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
        (eca-context-eglot--record-text record) (and is-present (> (length diagnostics) 0)
                                                     (eca-context-moved-text))
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

;; typescript-language-server publishes what the parser found, then, when the types are checked, all of
;; it: 50 ms after the one and the other, and the empty list of the first is no clean file.  What it is
;; asked meanwhile it answers when the types are checked; and what it is asked when those 50 ms are over,
;; only after it has published, however busy the machine is.
(defconst eca-context-eglot--echo-time 0.075
  "Seconds within which a publish may follow an answer that it precedes.")

(defun eca-context-eglot--settling (server uri)
  "Return what `eca-context-eglot--settled-p' needs, of URI by SERVER.
It is whole when SERVER, which is asked now, has answered, and once more when
it is asked a little later; one that names versions publishes each once."
  (if (eca-context-eglot--versions-p server)
      (list t)
    (let ((settled (list nil)))
      (eca-context-eglot--touch
       server uri
       (lambda ()
         (setcar settled (+ (float-time) eca-context-eglot--echo-time))
         (setcdr settled (lambda ()
                           (eca-context-eglot--touch
                            server uri (lambda () (setcar settled t)))))))
      settled)))

(defun eca-context-eglot--settled-p (settled)
  "Return non-nil if the publish that SETTLED is about is whole.
When the time has come, the server is asked for the second time."
  (let ((state (car settled)))
    (cond ((eq state t))
          ((and state (>= (float-time) state))
           (setcar settled nil)
           (funcall (cdr settled))
           nil))))

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
               (eca-context-eglot--say record diagnostics t '(t))))))))))

(defun eca-context-eglot--pull-uri (server uri done &optional is-last)
  "Ask SERVER for the diagnostics of URI; call DONE with them if it gives any.
When the server wants to be asked again it is, unless IS-LAST."
  (let ((identifier (plist-get (eca-context-eglot--options server) :identifier)))
    (eca-context-eglot--ask
     server :textDocument/diagnostic
     (append (list :textDocument (list :uri uri))
             (and (stringp identifier) (list :identifier identifier)))
     (lambda (result code _)
       (cond ((and (memql code '(-32801 -32802)) (not is-last))
              (eca-context-eglot--pull-uri server uri done t))
             ((and (null code) (vectorp (plist-get result :items)))
              (funcall done (plist-get result :items))))))))

(defun eca-context-eglot--options (server)
  "Return SERVER's options for diagnostics that are asked for, or nil."
  (let ((options (eca-context-eglot--capability server :diagnosticProvider)))
    (and (consp options) options)))

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
            (if (stringp source) source (eca-context-eglot--name server))
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
         (encoding (eca-context-eglot--encoding server)))
    (if (not (equal encoding "utf-16"))
        (eca-context-position-decoded encoding places)
      places)))

(defun eca-context-eglot--moved-items (server path record)
  "Return what SERVER said of older texts of PATH, moved with the current buffer.
RECORD is that of the buffer.  What flymake shows has moved; what it shows no
more was deleted; what it never showed moves as the text has changed."
  (let* ((shown (eca-context-eglot--shown))
         (places (eca-context-position-sweep
                  (mapcan (lambda (one) (list (cadr one) (cddr one))) shown)))
         (moved (mapcar (lambda (one)
                          (let ((beg (pop places))
                                (end (pop places)))
                            (eca-context-eglot--item server path (car one) beg end)))
                        shown))
         (payloads (mapcar #'car shown))
         (hidden (seq-remove (lambda (diagnostic)
                               (or (memq diagnostic payloads)
                                   (eca-context-eglot--deleted-p diagnostic)))
                             (eca-context-eglot--record-diagnostics record))))
    (append moved
            (and hidden
                 (eca-context-eglot--moved-by-text
                  server path hidden (eca-context-eglot--record-text record))))))

(defun eca-context-eglot--moved-by-text (server path diagnostics text)
  "Return what SERVER said of TEXT, moved with the current buffer.
DIAGNOSTICS about PATH are that; TEXT nil is not known."
  (if (null text)
      (eca-context-eglot--items server path diagnostics)
    (eca-context-moved (with-temp-buffer
                         (insert text)
                         (eca-context-eglot--items server path diagnostics))
                       text)))

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

(provide 'eca-context-eglot-diagnostics)
;;; eca-context-eglot-diagnostics.el ends here
