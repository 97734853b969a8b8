;;; eca-context-lsp-mode-unvisited.el --- What lsp-mode's servers say of files nobody visits  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A file that nobody visits is opened in its server without a buffer; what the server says of it never
;; reaches lsp-mode.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'eca-context-client)
(require 'eca-context-job)
(require 'eca-context-lsp-mode-diagnostics)
(require 'eca-context-lsp-mode-server)

(declare-function lsp--fix-path-casing "ext:lsp-mode" t t)
(declare-function lsp--matching-clients? "ext:lsp-mode" t t)
(declare-function lsp--path-to-uri "ext:lsp-mode" t t)
(declare-function lsp--uri-to-path "ext:lsp-mode" t t)
(declare-function lsp--workspace-buffers "ext:lsp-mode" t t)
(declare-function lsp--workspace-client "ext:lsp-mode" t t)
(declare-function lsp--workspace-diagnostics "ext:lsp-mode" t t)
(declare-function lsp-buffer-language "ext:lsp-mode" t t)
(declare-function lsp-notify "ext:lsp-mode" t t)
(declare-function lsp-session-folder->servers "ext:lsp-mode" t t)
(defvar lsp--cur-workspace)
(defvar lsp--session)

(cl-defstruct (eca-context-lsp-mode--open (:copier nil))
  "The file PATH of URI, opened for us in WORKSPACE with VERSION.
It is waited for by N-ASKERS.  It is SAID if DIAGNOSTICS are what was published
of it.  CLOSED is a `float-time', or nil; CHECKED that something was asked, and
BARRIER that it was answered, so the server has taken the text in."
  workspace path uri version (n-askers 0) said diagnostics closed checked barrier)

(defvar eca-context-lsp-mode--opens nil
  "The files that are open for us, and those that were a moment ago.")

(defvar eca-context-lsp-mode--last-version 1000000
  "The newest version of a text of ours, far from those of buffers.")

(defun eca-context-lsp-mode-diagnostics-of-file (path callback deadline)
  "Have a running server look at PATH on disk, which no buffer visits.
Return non-nil if there is one that serves its language, and then call CALLBACK
once with the outcome, at DEADLINE, a `float-time', or before; else return nil.
There is no buffer, and lsp-mode hears nothing of it.  It is given up when a
buffer comes to visit PATH, or when the current buffer is killed."
  (let ((opens (eca-context-lsp-mode--show path)))
    (when opens
      (mapc #'eca-context-lsp-mode--check opens)
      (let ((soon (min deadline (+ (float-time) eca-context-lsp-mode--patience))))
        (eca-context-job-await
         (+ deadline 1)
         (lambda ()
           (or (get-file-buffer path)
               (eca-context-lsp-mode--heard-p opens (float-time) soon deadline)))
         (lambda (_)
           (eca-context-lsp-mode--guarded
             (let ((outcome (eca-context-lsp-mode--opens-outcome opens path)))
               (mapc #'eca-context-lsp-mode--leave opens)
               (funcall callback outcome))))))
      t)))

(defun eca-context-lsp-mode--show (path)
  "Open PATH on disk at the running servers for it; return a list of opens.
Nil if there is none, or if a buffer visits PATH.  They are open until each has
been left as often as this was called."
  (let ((opens (and (eca-context-lsp-mode--usable-p)
                    lsp--session
                    (not (file-remote-p path))
                    (not (find-buffer-visiting path))
                    (eca-context-lsp-mode--guarded (eca-context-lsp-mode--open path)))))
    (when opens
      (add-hook 'lsp-before-open-hook #'eca-context-lsp-mode--make-way)
      (dolist (open opens)
        (cl-incf (eca-context-lsp-mode--open-n-askers open))))
    opens))

(defun eca-context-lsp-mode--leave (open)
  "Close OPEN unless somebody else needs it."
  (when (zerop (cl-decf (eca-context-lsp-mode--open-n-askers open)))
    (eca-context-lsp-mode--close open)))

(defun eca-context-lsp-mode--check (open)
  "See that what the server of OPEN publishes can be known to be about it."
  (unless (or (eca-context-lsp-mode--open-checked open)
              (eca-context-lsp-mode--speaks-p (eca-context-lsp-mode--open-workspace open)))
    (setf (eca-context-lsp-mode--open-checked open) t)
    (eca-context-lsp-mode--barrier
     (eca-context-lsp-mode--open-workspace open) (eca-context-lsp-mode--open-path open)
     (lambda () (setf (eca-context-lsp-mode--open-barrier open) t)))))

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
  "Open PATH with TEXT of LANGUAGE in WORKSPACE, if it is not; return the open."
  (or (seq-find (lambda (open)
                  (and (eq workspace (eca-context-lsp-mode--open-workspace open))
                       (equal path (eca-context-lsp-mode--open-path open))
                       (not (eca-context-lsp-mode--open-closed open))))
                eca-context-lsp-mode--opens)
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
        open)))

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

(defun eca-context-lsp-mode-serves-p (path same-language-p)
  "Return non-nil if lsp-mode has a server for PATH and its language.
The current buffer holds the text of PATH; SAME-LANGUAGE-P is called in a buffer
with the name of its file."
  (and (eca-context-lsp-mode--usable-p)
       (or (eca-context-lsp-mode--managed-p)
           (and (bound-and-true-p lsp--session)
                (seq-some (lambda (workspace)
                            (seq-some (lambda (buffer)
                                        (and (buffer-live-p buffer)
                                             (with-current-buffer buffer
                                               (and buffer-file-name
                                                    (funcall same-language-p buffer-file-name)))))
                                      (lsp--workspace-buffers workspace)))
                          (eca-context-lsp-mode--workspaces-of path))))
       t))

(defun eca-context-lsp-mode--ours-p (workspace params)
  "Return non-nil if WORKSPACE has published PARAMS about a file opened for us.
Note them, and keep from lsp-mode the one publish that tells of the closing."
  (let* ((uri (eca-context-client-get params :uri))
         (path (and eca-context-lsp-mode--opens uri (lsp--uri-to-path uri)))
         (open (and path
                    (seq-find (lambda (open)
                                (and (eq workspace (eca-context-lsp-mode--open-workspace open))
                                     (eca-context-lsp-mode--same-p
                                      path (eca-context-lsp-mode--open-path open))))
                              eca-context-lsp-mode--opens)))
         (version (eca-context-client-get params :version))
         (diagnostics (eca-context-client-get params :diagnostics)))
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

(provide 'eca-context-lsp-mode-unvisited)
;;; eca-context-lsp-mode-unvisited.el ends here
