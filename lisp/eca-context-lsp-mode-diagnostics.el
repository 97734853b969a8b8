;;; eca-context-lsp-mode-diagnostics.el --- What lsp-mode's servers say of a buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What the servers of lsp-mode said, raw, and whether it is about the present text.  lsp-mode keeps
;; neither version nor time of what is published, so what is published is noted with the text that it
;; was about.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'eca-context-client)
(require 'eca-context-flycheck)
(require 'eca-context-flymake)
(require 'eca-context-job)
(require 'eca-context-lsp-mode-server)
(require 'eca-context-moved)
(require 'eca-context-position)

(declare-function lsp--fix-path-casing "ext:lsp-mode" t t)
(declare-function lsp--uri-to-path "ext:lsp-mode" t t)
(declare-function lsp--workspace-diagnostics "ext:lsp-mode" t t)
(declare-function lsp--workspace-proc "ext:lsp-mode" t t)
(declare-function lsp--workspace-status "ext:lsp-mode" t t)
(declare-function lsp-diagnostics "ext:lsp-mode" t t)
(declare-function lsp-workspaces "ext:lsp-mode" t t)
(defvar eca-context-diagnostics-functions)
(defvar lsp--cur-version)
(defvar lsp--session)

;;;; What was published

(cl-defstruct (eca-context-lsp-mode--record (:copier nil))
  "What a server said last of a file.
It is SAID if there was a publish: the raw DIAGNOSTICS, and HASH of the text
that they are about (nil: not known), and TEXT that text, if there are any.
BARRIER is of the text that the server has taken in for certain, ASKED of the
one it was last asked about, VAIN of the one of which it said nothing for long."
  said diagnostics hash text barrier asked vain)

(cl-defstruct (eca-context-lsp-mode--server (:copier nil))
  "What is known of a server: RECORDS by file, whether it ever gave VERSIONS."
  (records (make-hash-table :test #'equal)) versions)

(defvar eca-context-lsp-mode--servers (make-hash-table :test #'eq :weakness 'key)
  "What is known of each server, by lsp-mode's workspace.")

(defvar eca-context-lsp-mode--hashes (make-hash-table :test #'eq :weakness 'key)
  "Buffers, and (TICK . HASH) of the text of each.")

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
         (version (eca-context-client-get params :version))
         (file (lsp--fix-path-casing
                (lsp--uri-to-path (eca-context-client-get params :uri))))
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
                        hash))))
          (eca-context-lsp-mode--record-text record)
          (and (eca-context-lsp-mode--record-hash record)
               (> (length (eca-context-lsp-mode--record-diagnostics record)) 0)
               (with-current-buffer buffer (eca-context-moved-text))))))

;;;; The provider

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

(defun eca-context-lsp-mode--outcome (fresh items)
  "Return an outcome with ITEMS, which are FRESH, t or `:json-false'."
  (list :provider "lsp-mode" :kind "semantic" :status "ok" :fresh fresh :items items))

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

(defun eca-context-lsp-mode--speaks-p (workspace)
  "Return non-nil if the server of WORKSPACE is one that publishes with versions."
  (eca-context-lsp-mode--server-versions (eca-context-lsp-mode--server workspace)))

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
  (let* ((range (eca-context-client-get diagnostic :range))
         (start (eca-context-client-get range :start))
         (end (eca-context-client-get range :end))
         (place (list (eca-context-client-get start :line)
                      (eca-context-client-get start :character)
                      (eca-context-client-get end :line)
                      (eca-context-client-get end :character)))
         (code (eca-context-client-get diagnostic :code))
         (code (if (or (hash-table-p code) (consp code))
                   (eca-context-client-get code :value)
                 code))
         (source (eca-context-client-get diagnostic :source))
         (message (eca-context-client-get diagnostic :message)))
    (when (seq-every-p #'natnump place)
      (vector path
              (pcase (eca-context-client-get diagnostic :severity)
                (2 "warning") (3 "info") (4 "hint") (_ "error"))
              (and (stringp source) source)
              (and code (format "%s" code))
              (vconcat place)
              (if (stringp message) message "")))))

(defun eca-context-lsp-mode--known (path)
  "Return what is known of older texts of PATH, moved with the current buffer."
  (let* ((file (eca-context-lsp-mode--file))
         (shown (append (eca-context-flymake-shown 'lsp-diagnostics--flymake-backend)
                        (eca-context-flycheck-shown 'lsp)))
         (items (mapcan (lambda (workspace)
                          (let ((items (eca-context-lsp-mode--items
                                        (eca-context-lsp-mode--held workspace file) path)))
                            (if shown
                                items
                              (eca-context-moved items
                                                 (eca-context-lsp-mode--record-text
                                                  (eca-context-lsp-mode--record workspace file))))))
                        (seq-filter #'eca-context-lsp-mode--live-p (lsp-workspaces)))))
    (eca-context-lsp-mode--outcome
     :json-false (if shown (eca-context-lsp-mode--moved items shown) items))))

(defun eca-context-lsp-mode--moved (items shown)
  "Return ITEMS moved to where they are SHOWN in the current buffer now.
What is not shown goes with what is shown before it."
  (let* ((shown (sort shown (lambda (a b) (< (cadr a) (cadr b)))))
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

(provide 'eca-context-lsp-mode-diagnostics)
;;; eca-context-lsp-mode-diagnostics.el ends here
