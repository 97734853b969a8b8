;;; eca-context-lsp-mode.el --- The diagnostics that lsp-mode holds  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What the servers of lsp-mode said, raw, and whether it is about the present text.  lsp-mode keeps
;; neither version nor time of what is published, so advice on its handler notes which text it was
;; about.  A file that nobody visits is opened in its server without a buffer; what the server says of
;; it never reaches lsp-mode.  lsp-mode is a foreign package: only here are its names, and nothing of it
;; is needed until a buffer uses it.  Above 400 lines because its private names may stand nowhere else.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'eca-context-flycheck)
(require 'eca-context-flymake)
(require 'eca-context-job)
(require 'eca-context-position)

(declare-function lsp--client-server-id "ext:lsp-mode" t t)
(declare-function lsp--fix-path-casing "ext:lsp-mode" t t)
(declare-function lsp--flush-delayed-changes "ext:lsp-mode" t t)
(declare-function lsp--matching-clients? "ext:lsp-mode" t t)
(declare-function lsp--path-to-uri "ext:lsp-mode" t t)
(declare-function lsp--uri-to-path "ext:lsp-mode" t t)
(declare-function lsp--workspace-buffers "ext:lsp-mode" t t)
(declare-function lsp--workspace-client "ext:lsp-mode" t t)
(declare-function lsp--workspace-diagnostics "ext:lsp-mode" t t)
(declare-function lsp--workspace-proc "ext:lsp-mode" t t)
(declare-function lsp--workspace-status "ext:lsp-mode" t t)
(declare-function lsp-buffer-language "ext:lsp-mode" t t)
(declare-function lsp-diagnostics "ext:lsp-mode" t t)
(declare-function lsp-feature? "ext:lsp-mode" t t)
(declare-function lsp-notify "ext:lsp-mode" t t)
(declare-function lsp-request-async "ext:lsp-mode" t t)
(declare-function lsp-session-folder->servers "ext:lsp-mode" t t)
(declare-function lsp-workspaces "ext:lsp-mode" t t)

(defvar eca-context-diagnostics-functions)
(defvar lsp--cur-version)
(defvar lsp--cur-workspace)
(defvar lsp--delayed-requests)
(defvar lsp--session)

(defconst eca-context-lsp-mode--functions
  '(lsp--client-server-id lsp--fix-path-casing lsp--flush-delayed-changes lsp--matching-clients?
    lsp--on-diagnostics lsp--path-to-uri lsp--uri-to-path lsp--workspace-buffers
    lsp--workspace-client lsp--workspace-diagnostics lsp--workspace-proc lsp--workspace-status
    lsp-buffer-language lsp-diagnostics lsp-feature? lsp-notify lsp-request-async
    lsp-session-folder->servers lsp-workspaces)
  "The functions of lsp-mode without which nothing is asked of it.")

(defconst eca-context-lsp-mode--variables
  '(lsp--cur-version lsp--cur-workspace lsp--delayed-requests lsp--session)
  "The variables of lsp-mode without which nothing is asked of it.")

(defconst eca-context-lsp-mode--patience 2
  "How many seconds something is waited for that may never come.")

(defconst eca-context-lsp-mode--longest 8
  "After how many seconds of waiting for what should come it is given up.")

(defun eca-context-lsp-mode-missing ()
  "Return the names that are needed of lsp-mode and not there, a list."
  (append (seq-remove #'fboundp eca-context-lsp-mode--functions)
          (seq-remove #'boundp eca-context-lsp-mode--variables)))

(defun eca-context-lsp-mode--usable-p ()
  "Return non-nil if lsp-mode is loaded and has what is needed."
  (and (featurep 'lsp-mode) (null (eca-context-lsp-mode-missing))))

(defmacro eca-context-lsp-mode--guarded (&rest body)
  "Evaluate BODY; an error is nil, match data and the echo area stay as they are."
  (declare (indent 0) (debug (body)))
  `(let ((inhibit-message t)
         (message-log-max nil))
     (condition-case nil
         (save-match-data ,@body)
       (error nil))))

;;;; What was published

(cl-defstruct (eca-context-lsp-mode--record (:copier nil))
  "What a server said last of a file.
It is SAID if there was a publish: the raw DIAGNOSTICS, and HASH of the text
that they are about (nil: not known).  BARRIER is of the text that the server
has taken in for certain, ASKED of the one it was last asked about, VAIN of the
one of which it said nothing for long."
  said diagnostics hash barrier asked vain)

(cl-defstruct (eca-context-lsp-mode--server (:copier nil))
  "What is known of a server: RECORDS by file, whether it ever gave VERSIONS."
  (records (make-hash-table :test #'equal)) versions)

(cl-defstruct (eca-context-lsp-mode--open (:copier nil))
  "The file PATH of URI, opened for us in WORKSPACE with VERSION.
It is SAID if DIAGNOSTICS are what was published of it.  CLOSED is a
`float-time', or nil; BARRIER non-nil if the server has taken the text in."
  workspace path uri version said diagnostics closed barrier)

(defvar eca-context-lsp-mode--servers (make-hash-table :test #'eq :weakness 'key)
  "What is known of each server, by lsp-mode's workspace.")

(defvar eca-context-lsp-mode--hashes (make-hash-table :test #'eq :weakness 'key)
  "Buffers, and (TICK . HASH) of the text of each.")

(defvar eca-context-lsp-mode--opens nil
  "The files that are open for us, and those that were a moment ago.")

(defvar eca-context-lsp-mode--last-version 1000000
  "The newest version of a text of ours, far from those of buffers.")

(defun eca-context-lsp-mode-watch ()
  "Note from now on what the servers of lsp-mode publish."
  (advice-add 'lsp--on-diagnostics :around #'eca-context-lsp-mode--on-publish))

(defun eca-context-lsp-mode-unwatch ()
  "Note no more what the servers of lsp-mode publish, and forget what they did."
  (advice-remove 'lsp--on-diagnostics #'eca-context-lsp-mode--on-publish)
  (clrhash eca-context-lsp-mode--servers)
  (clrhash eca-context-lsp-mode--hashes))

(defun eca-context-lsp-mode--on-publish (handle workspace params &rest more)
  "Call HANDLE with WORKSPACE, PARAMS and MORE, and note what was published.
What is about a file that is open for us alone is only noted."
  (unless (eca-context-lsp-mode--guarded
            (eca-context-lsp-mode--ours-p workspace params))
    ;; An error of those who show it does not undo the publish.
    (unwind-protect (apply handle workspace params more)
      (eca-context-lsp-mode--guarded
        (eca-context-lsp-mode--note workspace params)))))

(defun eca-context-lsp-mode--get (object key)
  "Return the value of KEY, a keyword, in OBJECT, a hash table or plist."
  (cond ((hash-table-p object) (gethash (substring (symbol-name key) 1) object))
        ((consp object) (plist-get object key))))

(defun eca-context-lsp-mode--server (workspace)
  "Return what is known of WORKSPACE."
  (or (gethash workspace eca-context-lsp-mode--servers)
      (puthash workspace (make-eca-context-lsp-mode--server) eca-context-lsp-mode--servers)))

(defun eca-context-lsp-mode--record (workspace file)
  "Return the record of FILE in WORKSPACE, made if need be."
  (let ((records (eca-context-lsp-mode--server-records
                  (eca-context-lsp-mode--server workspace))))
    (or (gethash file records)
        (puthash file (make-eca-context-lsp-mode--record) records))))

(defun eca-context-lsp-mode--file ()
  "Return the name of the current buffer's file as lsp-mode has it in tables."
  (lsp--fix-path-casing (or buffer-file-name "")))

(defun eca-context-lsp-mode--hash ()
  "Return a hash of the text of the current buffer."
  (let ((known (gethash (current-buffer) eca-context-lsp-mode--hashes))
        (tick (buffer-chars-modified-tick)))
    (if (eql (car known) tick)
        (cdr known)
      (cdr (puthash (current-buffer) (cons tick (buffer-hash)) eca-context-lsp-mode--hashes)))))

(defun eca-context-lsp-mode--note (workspace params)
  "Note that WORKSPACE has published PARAMS, which lsp-mode has taken in."
  (let* ((server (eca-context-lsp-mode--server workspace))
         (version (eca-context-lsp-mode--get params :version))
         (file (lsp--fix-path-casing
                (lsp--uri-to-path (eca-context-lsp-mode--get params :uri))))
         (buffer (eca-context-lsp-mode--buffer workspace file))
         (record (eca-context-lsp-mode--record
                  workspace
                  (if buffer
                      (with-current-buffer buffer (eca-context-lsp-mode--file))
                    file))))
    (when (numberp version)
      (setf (eca-context-lsp-mode--server-versions server) t))
    (setf (eca-context-lsp-mode--record-said record) t
          ;; What the user's own filter has left of it.
          (eca-context-lsp-mode--record-diagnostics record)
          (gethash file (lsp--workspace-diagnostics workspace))
          (eca-context-lsp-mode--record-hash record)
          (and buffer
               (with-current-buffer buffer
                 (let ((hash (eca-context-lsp-mode--hash)))
                   (and (if (numberp version)
                            (eql version lsp--cur-version)
                          (equal hash (eca-context-lsp-mode--record-barrier record)))
                        hash)))))))

(defun eca-context-lsp-mode--buffer (workspace file)
  "Return the buffer that visits FILE and has its text in WORKSPACE, or nil."
  (seq-find (lambda (buffer)
              (and (bufferp buffer)
                   (buffer-live-p buffer)
                   (with-current-buffer buffer
                     (eca-context-lsp-mode--same-p file (eca-context-lsp-mode--file)))))
            (lsp--workspace-buffers workspace)))

(defun eca-context-lsp-mode--same-p (a b)
  "Return non-nil if the file names A and B are of one file."
  (or (equal a b)
      (and (equal (file-name-nondirectory a) (file-name-nondirectory b))
           (not (file-remote-p a))
           (not (file-remote-p b))
           (equal (file-truename a) (file-truename b)))))

;;;; The buffer

(defun eca-context-lsp-mode--managed-p ()
  "Return non-nil if lsp-mode has to do with the current buffer."
  (and (eca-context-lsp-mode--usable-p)
       buffer-file-name
       (or (lsp-workspaces) (bound-and-true-p lsp-mode))))

(defun eca-context-lsp-mode--tells-p ()
  "Return non-nil if the current buffer's servers are asked here."
  (and (eca-context-lsp-mode--managed-p)
       (boundp 'eca-context-diagnostics-functions)
       (seq-some (lambda (functions) (memq 'eca-context-lsp-mode-diagnostics functions))
                 (list eca-context-diagnostics-functions
                       (and (memq t eca-context-diagnostics-functions)
                            (default-value 'eca-context-diagnostics-functions))))))

;; flymake's backend and flycheck's checker that show what lsp-mode holds.
(put 'lsp-diagnostics--flymake-backend 'eca-context-told-by #'eca-context-lsp-mode--tells-p)
(put 'lsp 'eca-context-told-by #'eca-context-lsp-mode--tells-p)

(defun eca-context-lsp-mode-diagnostics (request callback)
  "Return what the servers of the current buffer say of it, an outcome, or nil.
REQUEST is a plist: `:path' of the file, `:deadline', a `float-time'.  While a
server that publishes has not spoken about the present text, return `:async' and
call CALLBACK when it has, or at the deadline.  What may never come is waited
for two seconds, once for each text: a server's start, and its first word about
a file.  Delayed changes are sent."
  (when (eca-context-lsp-mode--managed-p)
    (let* ((path (plist-get request :path))
           (start (float-time))
           (deadline (or (plist-get request :deadline)
                         (+ start eca-context-lsp-mode--patience)))
           (soon (min deadline (+ start eca-context-lsp-mode--patience)))
           (buffer (current-buffer))
           (step (lambda () (eca-context-lsp-mode--step path start soon deadline))))
      (or (funcall step)
          (eca-context-job-await
           (+ deadline 1) step
           (lambda (outcome)
             (eca-context-lsp-mode--guarded
               (funcall callback
                        (cond (outcome)
                              ((buffer-live-p buffer)
                               (with-current-buffer buffer
                                 (save-excursion
                                   (save-restriction
                                     (widen)
                                     (eca-context-lsp-mode--known path)))))
                              (t (eca-context-lsp-mode--failure
                                  "error" "the buffer was killed")))))))))))

(put 'eca-context-lsp-mode-diagnostics 'eca-context-needs 'lsp-mode)

(defun eca-context-lsp-mode--failure (status reason)
  "Return an outcome of STATUS that gives REASON."
  (list :provider "lsp-mode" :kind "semantic" :status status :reason reason))

(defun eca-context-lsp-mode--outcome (fresh items)
  "Return an outcome with ITEMS, which are FRESH, t or `:json-false'."
  (list :provider "lsp-mode" :kind "semantic" :status "ok" :fresh fresh :items items))

(defun eca-context-lsp-mode--live-p (workspace)
  "Return non-nil if the server of WORKSPACE can be spoken to."
  (and (eq (lsp--workspace-status workspace) 'initialized)
       (process-live-p (lsp--workspace-proc workspace))))

(defun eca-context-lsp-mode--step (path start soon deadline)
  "Return the outcome for the current buffer, the text of PATH; nil is wait.
The waiting began at START; SOON is when to wait no more for what may never
come, DEADLINE for anything."
  (let* ((now (float-time))
         (workspaces (seq-filter (lambda (workspace)
                                   (process-live-p (lsp--workspace-proc workspace)))
                                 (lsp-workspaces)))
         (live (seq-filter #'eca-context-lsp-mode--live-p workspaces))
         (starting (seq-filter (lambda (workspace)
                                 (eq (lsp--workspace-status workspace) 'starting))
                               workspaces)))
    (cond
     ((null (append live starting))
      (eca-context-lsp-mode--failure "error" "the language server has ended"))
     ((and starting (< now soon)) nil)
     ((null live)
      (append (eca-context-lsp-mode--failure "starting" "the language server is starting")
              '(:retry t)))
     (t
      (eca-context-lsp-mode--flush)
      (let* ((file (eca-context-lsp-mode--file))
             (hash (eca-context-lsp-mode--hash))
             (silent (eca-context-lsp-mode--silent live file hash)))
        (cond
         ((null (append silent starting))
          (eca-context-lsp-mode--outcome t (eca-context-lsp-mode--raw live file path)))
         ((null starting)
          (eca-context-lsp-mode--wait path live silent hash (- now start) (< now deadline)))
         (t (eca-context-lsp-mode--known path))))))))

(defun eca-context-lsp-mode--wait (path live silent hash seconds more)
  "Return what can be said of PATH while SILENT of LIVE have not spoken, or nil.
HASH is that of the text; SECONDS have gone by, and MORE is non-nil if there is
time left.  Nil is to wait."
  (let ((file (eca-context-lsp-mode--file)))
    (dolist (workspace silent)
      (when (>= seconds (if (eca-context-lsp-mode--sure-p workspace file)
                            eca-context-lsp-mode--longest
                          eca-context-lsp-mode--patience))
        (setf (eca-context-lsp-mode--record-vain (eca-context-lsp-mode--record workspace file))
              hash)))
    (cond
     ((null (eca-context-lsp-mode--silent live file hash))
      (eca-context-lsp-mode--outcome t (eca-context-lsp-mode--raw live file path)))
     ((or (not more)
          (seq-every-p (lambda (workspace)
                         (equal hash (eca-context-lsp-mode--record-vain
                                      (eca-context-lsp-mode--record workspace file))))
                       silent))
      (eca-context-lsp-mode--known path))
     (t (dolist (workspace silent)
          (eca-context-lsp-mode--ask workspace file hash))))))

(defun eca-context-lsp-mode--flush ()
  "Have lsp-mode send what it has delayed."
  (when lsp--delayed-requests
    (eca-context-lsp-mode--guarded (lsp--flush-delayed-changes))))

(defun eca-context-lsp-mode--silent (workspaces file hash)
  "Return those of WORKSPACES that must yet speak of FILE with the text of HASH.
One that has never said anything of it counts no more when it was waited for in
vain and another one has spoken."
  (let* ((record (lambda (workspace) (eca-context-lsp-mode--record workspace file)))
         (spoke (seq-filter (lambda (workspace)
                              (equal hash (eca-context-lsp-mode--record-hash
                                           (funcall record workspace))))
                            workspaces)))
    (seq-remove (lambda (workspace)
                  (or (memq workspace spoke)
                      (and spoke
                           (not (eca-context-lsp-mode--record-said (funcall record workspace)))
                           (equal hash (eca-context-lsp-mode--record-vain
                                        (funcall record workspace))))))
                workspaces)))

(defun eca-context-lsp-mode--sure-p (workspace file)
  "Return non-nil if WORKSPACE, a server, should speak of each text of FILE.
That is one that has spoken of it and says which version it means."
  (and (eca-context-lsp-mode--speaks-p workspace)
       (eca-context-lsp-mode--record-said (eca-context-lsp-mode--record workspace file))))

(defun eca-context-lsp-mode--ask (workspace file hash)
  "See that WORKSPACE takes in FILE with the text of HASH, the current buffer's.
Needed only where it publishes without versions; once for a text."
  (let ((record (eca-context-lsp-mode--record workspace file)))
    (unless (or (eca-context-lsp-mode--server-versions (eca-context-lsp-mode--server workspace))
                (equal hash (eca-context-lsp-mode--record-asked record)))
      (setf (eca-context-lsp-mode--record-asked record) hash)
      (eca-context-lsp-mode--barrier
       workspace buffer-file-name
       (lambda () (setf (eca-context-lsp-mode--record-barrier record) hash))))))

(defun eca-context-lsp-mode--barrier (workspace path done)
  "Call DONE when WORKSPACE has taken in all that it was sent about PATH."
  (eca-context-lsp-mode--guarded
    (let* ((lsp--cur-workspace workspace)
           (method (seq-find #'lsp-feature? '("textDocument/hover" "textDocument/documentHighlight"
                                              "textDocument/definition"
                                              "textDocument/documentSymbol")))
           (answered (lambda (&rest _) (eca-context-lsp-mode--guarded (funcall done)))))
      (when method
        (lsp-request-async method
                           (list :textDocument (list :uri (lsp--path-to-uri path))
                                 :position (list :line 0 :character 0))
                           answered :mode 'detached :error-handler answered)))))

;;;; Items

(defun eca-context-lsp-mode--held (workspace file)
  "Return the raw diagnostics that are known of FILE in WORKSPACE."
  (let ((record (eca-context-lsp-mode--record workspace file))
        (table (lsp--workspace-diagnostics workspace)))
    (if (eca-context-lsp-mode--record-said record)
        (eca-context-lsp-mode--record-diagnostics record)
      (append (gethash file table)
              (let ((true (lsp--fix-path-casing (file-truename file))))
                (and (not (equal true file)) (gethash true table)))))))

(defun eca-context-lsp-mode--raw (workspaces file path)
  "Return as items of PATH what WORKSPACES said of FILE, places as they said."
  (mapcan (lambda (workspace)
            (eca-context-lsp-mode--items (eca-context-lsp-mode--held workspace file) path))
          workspaces))

(defun eca-context-lsp-mode--items (diagnostics path)
  "Return DIAGNOSTICS, a sequence, as items of PATH; bad ones are left out."
  (delq nil (mapcar (lambda (diagnostic) (eca-context-lsp-mode--item diagnostic path))
                    diagnostics)))

(defun eca-context-lsp-mode--item (diagnostic path)
  "Return DIAGNOSTIC, a hash table or plist, as an item of PATH, or nil."
  (let* ((range (eca-context-lsp-mode--get diagnostic :range))
         (start (eca-context-lsp-mode--get range :start))
         (end (eca-context-lsp-mode--get range :end))
         (place (list (eca-context-lsp-mode--get start :line)
                      (eca-context-lsp-mode--get start :character)
                      (eca-context-lsp-mode--get end :line)
                      (eca-context-lsp-mode--get end :character)))
         (code (eca-context-lsp-mode--get diagnostic :code))
         (code (if (or (hash-table-p code) (consp code))
                   (eca-context-lsp-mode--get code :value)
                 code))
         (source (eca-context-lsp-mode--get diagnostic :source))
         (message (eca-context-lsp-mode--get diagnostic :message)))
    (when (seq-every-p #'natnump place)
      (vector path
              (pcase (eca-context-lsp-mode--get diagnostic :severity)
                (2 "warning") (3 "info") (4 "hint") (_ "error"))
              (and (stringp source) source)
              (and code (format "%s" code))
              (vconcat place)
              (if (stringp message) message "")))))

(defun eca-context-lsp-mode--known (path)
  "Return what is known of older texts of PATH, moved with the current buffer."
  (let* ((file (eca-context-lsp-mode--file))
         (items (mapcan (lambda (workspace)
                          (eca-context-lsp-mode--items
                           (eca-context-lsp-mode--held workspace file) path))
                        (seq-filter #'eca-context-lsp-mode--live-p (lsp-workspaces)))))
    (eca-context-lsp-mode--outcome :json-false (eca-context-lsp-mode--moved items))))

(defun eca-context-lsp-mode--moved (items)
  "Return ITEMS moved to where they are shown in the current buffer now.
What is not shown goes with what is shown before it."
  (let* ((shown (append (eca-context-flymake-shown 'lsp-diagnostics--flymake-backend)
                        (eca-context-flycheck-shown 'lsp)))
         (shown (sort shown (lambda (a b) (< (cadr a) (cadr b)))))
         (places (eca-context-position-sweep
                  (mapcan (lambda (one) (list (cadr one) (cddr one))) shown)))
         (by-message (make-hash-table :test #'equal))
         (n-lines 0))
    (dolist (one shown)
      (push (list (pop places) (pop places) (cadr one) (cddr one))
            (gethash (car one) by-message)))
    (maphash (lambda (message places) (puthash message (reverse places) by-message)) by-message)
    (mapcar (lambda (item)
              (let ((place (pop (gethash (aref item 5) by-message))))
                (when place
                  (setq n-lines (- (car (car place)) (aref (aref item 4) 0))))
                (vector (aref item 0) (aref item 1) (aref item 2) (aref item 3)
                        (eca-context-lsp-mode--place (aref item 4) place n-lines)
                        (aref item 5))))
            (sort items (lambda (a b)
                          (let ((a (aref a 4)) (b (aref b 4)))
                            (or (< (aref a 0) (aref b 0))
                                (and (= (aref a 0) (aref b 0)) (< (aref a 1) (aref b 1))))))))))

(defun eca-context-lsp-mode--place (range place n-lines)
  "Return RANGE where it is now: at PLACE, if that can be trusted, or N-LINES down.
PLACE is (START END BEG-POS END-POS) or nil.  lsp-mode shows what has no extent
on something that has, and counts characters where servers count UTF-16 units."
  (if (and place
           (not (and (= (aref range 0) (aref range 2)) (= (aref range 1) (aref range 3))))
           (seq-every-p (pcase-lambda (`(,at . ,pos))
                          (= (cdr at) (- pos (save-excursion
                                               (goto-char pos)
                                               (let ((inhibit-field-text-motion t))
                                                 (line-beginning-position))))))
                        (list (cons (nth 0 place) (nth 2 place))
                              (cons (nth 1 place) (nth 3 place)))))
      (vector (car (nth 0 place)) (cdr (nth 0 place)) (car (nth 1 place)) (cdr (nth 1 place)))
    (vector (max 0 (+ n-lines (aref range 0))) (aref range 1)
            (max 0 (+ n-lines (aref range 2))) (aref range 3))))

;;;; All files

(defun eca-context-lsp-mode-listed-items (roots)
  "Return as items all that lsp-mode has about files in ROOTS, absolute folders.
Nil ROOTS is all.  Files that a buffer visits are left to that buffer.  Where
lsp-mode is not in use nothing of it is loaded or read."
  (when (and (eca-context-lsp-mode--usable-p) lsp--session)
    (eca-context-lsp-mode--guarded
      (let ((roots (mapcar (lambda (root) (file-name-as-directory (file-truename root))) roots))
            items)
        (maphash (lambda (file diagnostics)
                   (when (and (or (null roots)
                                  (and (not (file-remote-p file))
                                       (let ((true (file-truename file)))
                                         (seq-some (lambda (root) (string-prefix-p root true))
                                                   roots))))
                              (not (find-buffer-visiting file)))
                     (setq items (append (eca-context-lsp-mode--items
                                          diagnostics (substring-no-properties file))
                                         items))))
                 (lsp-diagnostics))
        items))))

;;;; Files nobody visits

(defun eca-context-lsp-mode-diagnostics-of-file (path callback deadline)
  "Have a running server look at PATH on disk, which no buffer visits.
Return non-nil if there is one that serves its language, and then call CALLBACK
once with the outcome, at DEADLINE, a `float-time', or before; else return nil.
There is no buffer, and lsp-mode hears nothing of it.  It is given up when a
buffer comes to visit PATH, or when the current buffer is killed."
  (let ((opens (and (eca-context-lsp-mode--usable-p)
                    lsp--session
                    (not (file-remote-p path))
                    (not (find-buffer-visiting path))
                    (eca-context-lsp-mode--guarded (eca-context-lsp-mode--open path)))))
    (when opens
      (add-hook 'lsp-before-open-hook #'eca-context-lsp-mode--make-way)
      (let ((soon (min deadline (+ (float-time) eca-context-lsp-mode--patience))))
        (eca-context-job-await
         (+ deadline 1)
         (lambda ()
           (or (get-file-buffer path)
               (eca-context-lsp-mode--heard-p opens (float-time) soon deadline)))
         (lambda (_)
           (eca-context-lsp-mode--guarded
             (let ((outcome (eca-context-lsp-mode--opens-outcome opens path)))
               (mapc #'eca-context-lsp-mode--close opens)
               (funcall callback outcome))))))
      t)))

(defun eca-context-lsp-mode--heard-p (opens now soon deadline)
  "Return non-nil if at NOW no more need be waited for what is said of OPENS.
SOON is when to wait no more for what may never come, DEADLINE for anything."
  (or (seq-every-p #'eca-context-lsp-mode--open-done-p opens)
      (>= now (if (seq-some (lambda (open)
                              (eca-context-lsp-mode--speaks-p
                               (eca-context-lsp-mode--open-workspace open)))
                            opens)
                  deadline
                soon))))

(defun eca-context-lsp-mode--speaks-p (workspace)
  "Return non-nil if the server of WORKSPACE is one that publishes with versions."
  (eca-context-lsp-mode--server-versions (eca-context-lsp-mode--server workspace)))

(defun eca-context-lsp-mode--open-done-p (open)
  "Return non-nil if nothing more is to come of OPEN."
  (or (eca-context-lsp-mode--open-said open)
      (eca-context-lsp-mode--open-closed open)
      (not (eca-context-lsp-mode--live-p (eca-context-lsp-mode--open-workspace open)))))

(defun eca-context-lsp-mode--opens-outcome (opens path)
  "Return the outcome about PATH that follows from OPENS."
  (let* ((said (seq-filter #'eca-context-lsp-mode--open-said opens))
         (items (mapcan
                 (lambda (open)
                   (eca-context-lsp-mode--items
                    (if (eca-context-lsp-mode--open-said open)
                        (eca-context-lsp-mode--open-diagnostics open)
                      (gethash (lsp--fix-path-casing path)
                               (lsp--workspace-diagnostics
                                (eca-context-lsp-mode--open-workspace open))))
                    path))
                 opens)))
    (cond
     ((and said
           (seq-every-p (lambda (open)
                          (or (memq open said)
                              (not (eca-context-lsp-mode--speaks-p
                                    (eca-context-lsp-mode--open-workspace open)))))
                        opens))
      (eca-context-lsp-mode--outcome t items))
     (items (eca-context-lsp-mode--outcome :json-false items))
     ((seq-some (lambda (open)
                  (eca-context-lsp-mode--live-p (eca-context-lsp-mode--open-workspace open)))
                opens)
      (append (eca-context-lsp-mode--failure
               "timeout" "the language server has not yet checked the file")
              '(:retry t)))
     (t (eca-context-lsp-mode--failure "error" "the language server has ended")))))

(defun eca-context-lsp-mode--open (path)
  "Open the text of PATH on disk in the servers for it; return a list of opens."
  (let ((candidates (eca-context-lsp-mode--workspaces-of path)))
    (when candidates
      (with-temp-buffer
        (let ((enable-local-variables nil)
              (enable-local-eval nil)
              (enable-dir-local-variables nil)
              (inhibit-interaction t)
              (find-file-hook nil)
              workspaces language)
          (insert-file-contents path)
          (let ((buffer-file-name path)
                (default-directory (file-name-directory path)))
            (delay-mode-hooks (set-auto-mode t))
            (setq workspaces (seq-filter (lambda (workspace)
                                           (lsp--matching-clients?
                                            (lsp--workspace-client workspace)))
                                         candidates)
                  language (and workspaces (lsp-buffer-language))))
          (when (stringp language)
            (mapcar (lambda (workspace)
                      (eca-context-lsp-mode--open-in workspace path language (buffer-string)))
                    workspaces)))))))

(defun eca-context-lsp-mode--open-in (workspace path language text)
  "Open PATH with TEXT of LANGUAGE in WORKSPACE and return that as an open."
  (let* ((lsp--cur-workspace workspace)
         (open (make-eca-context-lsp-mode--open
                :workspace workspace :path path :uri (lsp--path-to-uri path)
                :version (cl-incf eca-context-lsp-mode--last-version))))
    (push open eca-context-lsp-mode--opens)
    (lsp-notify "textDocument/didOpen"
                (list :textDocument (list :uri (eca-context-lsp-mode--open-uri open)
                                          :languageId language
                                          :version (eca-context-lsp-mode--open-version open)
                                          :text text)))
    (unless (eca-context-lsp-mode--speaks-p workspace)
      (eca-context-lsp-mode--barrier
       workspace path (lambda () (setf (eca-context-lsp-mode--open-barrier open) t))))
    open))

(defun eca-context-lsp-mode--workspaces-of (path)
  "Return the workspaces of lsp-mode's innermost folder with PATH in it."
  (let ((true (file-truename path))
        (longest 0)
        found)
    (maphash (lambda (folder workspaces)
               (let ((live (seq-filter #'eca-context-lsp-mode--live-p workspaces))
                     (folder (and (not (file-remote-p folder))
                                  (file-name-as-directory (file-truename folder)))))
                 (when (and live folder
                            (string-prefix-p folder true)
                            (> (length folder) longest))
                   (setq longest (length folder)
                         found live))))
             (lsp-session-folder->servers lsp--session))
    found))

(defun eca-context-lsp-mode--ours-p (workspace params)
  "Return non-nil if WORKSPACE has published PARAMS about a file opened for us.
Note them, and keep from lsp-mode the one publish that tells of the closing."
  (let* ((uri (eca-context-lsp-mode--get params :uri))
         (path (and eca-context-lsp-mode--opens uri (lsp--uri-to-path uri)))
         (open (and path
                    (seq-find (lambda (open)
                                (and (eq workspace (eca-context-lsp-mode--open-workspace open))
                                     (eca-context-lsp-mode--same-p
                                      path (eca-context-lsp-mode--open-path open))))
                              eca-context-lsp-mode--opens)))
         (version (eca-context-lsp-mode--get params :version))
         (diagnostics (eca-context-lsp-mode--get params :diagnostics)))
    (when (numberp version)
      (setf (eca-context-lsp-mode--server-versions (eca-context-lsp-mode--server workspace)) t))
    (cond
     ((null open) nil)
     ((eca-context-lsp-mode--open-closed open)
      (let ((is-late (> (- (float-time) (eca-context-lsp-mode--open-closed open)) 5))
            (is-ours (eql version (eca-context-lsp-mode--open-version open)))
            (is-empty (and (seq-empty-p diagnostics)
                           (null (eca-context-lsp-mode--buffer workspace path)))))
        (when (or is-late (and is-empty (not is-ours)))
          (setq eca-context-lsp-mode--opens (delq open eca-context-lsp-mode--opens)))
        (and (not is-late) (or is-ours is-empty))))
     (t
      (when (if (numberp version)
                (eql version (eca-context-lsp-mode--open-version open))
              (eca-context-lsp-mode--open-barrier open))
        (setf (eca-context-lsp-mode--open-said open) t
              (eca-context-lsp-mode--open-diagnostics open) diagnostics))
      t))))

(defun eca-context-lsp-mode--make-way ()
  "Close for us the file that lsp-mode is about to open for the current buffer."
  (dolist (open (copy-sequence eca-context-lsp-mode--opens))
    (when (and buffer-file-name
               (eca-context-lsp-mode--same-p (eca-context-lsp-mode--open-path open)
                                             buffer-file-name))
      (eca-context-lsp-mode--close open))))

(defun eca-context-lsp-mode--close (open)
  "Close OPEN in its server, unless that is done."
  (let ((workspace (eca-context-lsp-mode--open-workspace open)))
    (unless (eca-context-lsp-mode--open-closed open)
      (setf (eca-context-lsp-mode--open-closed open) (float-time))
      (eca-context-lsp-mode--guarded
        (if (eca-context-lsp-mode--live-p workspace)
            (let ((lsp--cur-workspace workspace))
              (lsp-notify "textDocument/didClose"
                          (list :textDocument
                                (list :uri (eca-context-lsp-mode--open-uri open)))))
          (setq eca-context-lsp-mode--opens (delq open eca-context-lsp-mode--opens)))))
    (setq eca-context-lsp-mode--opens
          (seq-remove (lambda (open)
                        (let ((closed (eca-context-lsp-mode--open-closed open)))
                          (and closed (> (- (float-time) closed) 5))))
                      eca-context-lsp-mode--opens))
    (unless (seq-some (lambda (open) (not (eca-context-lsp-mode--open-closed open)))
                      eca-context-lsp-mode--opens)
      (remove-hook 'lsp-before-open-hook #'eca-context-lsp-mode--make-way))))

(provide 'eca-context-lsp-mode)
;;; eca-context-lsp-mode.el ends here
