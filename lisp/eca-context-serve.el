;;; eca-context-serve.el --- The door of other agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Beside the door of eca-emacs: the module listens on a socket that only this user can use, and who
;; asks there is answered as a server of eca-emacs is.  `eca-context mcp' is who asks for an agent.
;; It knows no provider and no protocol but the names of the methods.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'project)
(require 'server)
(require 'eca-context)
(require 'eca-context-channel)
(require 'eca-context-collect)
(require 'eca-context-document)
(require 'eca-context-eca)
(require 'eca-context-files)
(require 'eca-context-job)
(require 'eca-context-log)
(require 'eca-context-module)
(require 'eca-context-position)

(declare-function eca-context-module-error-frame "ext:eca-context-module" (id code message) t)
(declare-function eca-context-module-result-frame "ext:eca-context-module" (id result) t)
(declare-function eca-context-module-serve-answer "ext:eca-context-module" (client frame) t)
(declare-function eca-context-module-serve-count "ext:eca-context-module" () t)
(declare-function eca-context-module-serve-poll "ext:eca-context-module" () t)
(declare-function eca-context-module-serve-start "ext:eca-context-module" (runtime name) t)
(declare-function eca-context-module-serve-stop "ext:eca-context-module" () t)

(defcustom eca-context-serve-name nil
  "What this Emacs is called by `eca-context mcp --emacs'.
Nil: as its server is, the variable `server-name', if one runs; else \"emacs\"."
  :type '(choice (const :tag "As its server" nil) string)
  :group 'eca-context)

(defconst eca-context-serve--methods '("editor/getContext" "editor/getDiagnostics")
  "The requests that are answered as at the door of eca-emacs.")

(defvar eca-context-serve--socket nil
  "The file name of the socket, or nil.")

;;;###autoload
(define-minor-mode eca-context-serve-mode
  "Let agents of this user ask through a socket, as `eca-context mcp' does.
Only this user can use it; nothing listens on a network.  They are answered like
the server of eca-emacs, under the same limits: about the workspace folders of
its sessions, or else about the project that the agent works in, if a file of
it is open here.  Without a usable module the mode says so and stays off."
  :global t
  :group 'eca-context
  (if (not eca-context-serve-mode)
      (eca-context-serve--stop)
    (let ((trouble (or (eca-context-module-trouble) (eca-context-serve--start))))
      (if (not trouble)
          (eca-context-collect-watch)
        (setq eca-context-serve-mode nil)
        (message "eca-context: %s" trouble)))))

(defun eca-context-serve--name ()
  "Return what this Emacs is called."
  (or eca-context-serve-name
      (and (or (daemonp) (process-live-p server-process))
           (stringp server-name)
           (file-name-nondirectory server-name))
      "emacs"))

(defun eca-context-serve-choice ()
  "Return the name by which an agent must choose this Emacs, nil if it need not.
It must where other Emacsen serve too, or where the user has given a name."
  (let ((name (eca-context-serve--file-name)))
    (and (or (not (member name '("emacs" "server")))
             (eca-context-serve--others-p))
         name)))

(defun eca-context-serve--file-name ()
  "Return what this Emacs is called as its socket's file is: plain and short."
  (if eca-context-serve--socket
      (file-name-sans-extension (file-name-nondirectory eca-context-serve--socket))
    (let ((name (replace-regexp-in-string "[^-A-Za-z0-9]" "_" (eca-context-serve--name))))
      (if (string-empty-p name) "emacs" (substring name 0 (min 32 (length name)))))))

(defun eca-context-serve--others-p ()
  "Return non-nil if another living Emacs has a socket beside ours."
  (and eca-context-serve--socket
       (seq-some (lambda (file)
                   (let ((pid (string-to-number (file-name-extension file))))
                     (and (/= pid (emacs-pid)) (process-attributes pid))))
                 (directory-files (file-name-directory eca-context-serve--socket) nil
                                  "[^.]\\.[0-9]+\\'"))))

(defun eca-context-serve--start ()
  "Listen; return nil, or a sentence telling why not."
  (if (not (fboundp 'eca-context-module-serve-start))
      "sockets are not supported on this system yet"
    (condition-case err
        (progn
          (eca-context-channel-open #'eca-context-serve--hear)
          (setq eca-context-serve--socket (eca-context-module-serve-start
                                           (getenv "XDG_RUNTIME_DIR") (eca-context-serve--name)))
          (add-hook 'kill-emacs-hook #'eca-context-serve--close)
          nil)
      (error (format "no socket: %s" (or (car-safe (cdr err)) (error-message-string err)))))))

(defun eca-context-serve--stop ()
  "Leave no socket behind, and nothing that only it needs."
  (eca-context-serve--close)
  (unless eca-context-mode
    (eca-context-collect-unwatch)))

(defun eca-context-serve--close ()
  "Give up the socket."
  (remove-hook 'kill-emacs-hook #'eca-context-serve--close)
  (when eca-context-serve--socket
    (setq eca-context-serve--socket nil)
    (eca-context-module-serve-stop)))

(defalias 'eca-context-serve-unload-function #'eca-context-collect-unload)

(defun eca-context-serve-state ()
  "Return a sentence about the socket, for a person."
  (if (not eca-context-serve--socket)
      "none; `eca-context-serve-mode' is off"
    (pcase-let ((`(,n-clients . ,n-requests) (eca-context-module-serve-count)))
      (format "%s, %d connected, %d requests" (abbreviate-file-name eca-context-serve--socket)
              n-clients n-requests))))

;;;; Where the agent works

(defun eca-context-serve--roots (directory)
  "Return (WHY . ROOTS) for an agent that works in DIRECTORY, a string or nil.
WHY is a string: session where a session of eca-emacs holds DIRECTORY, project
where the user has a file of its project open, sessions where neither is so but
there are sessions, else none, with ROOTS that nothing lies in."
  (let* ((directory (eca-context-serve--directory directory))
         (workspaces (delq nil (eca-context-eca-workspaces)))
         (session (and directory
                       (seq-find (lambda (roots) (eca-context-files-inside-p directory roots))
                                 workspaces)))
         (project (and directory (not session) (eca-context-serve--project directory))))
    (cond (session (cons "session" session))
          (project (list "project" project))
          (workspaces (cons "sessions" (apply #'append workspaces)))
          (t (list "none" (file-name-as-directory null-device))))))

(defun eca-context-serve--directory (directory)
  "Return DIRECTORY as the true name of a folder on this machine, or nil."
  (and (stringp directory)
       (file-name-absolute-p directory)
       (not (string-search "\0" directory))
       (not (string-match-p "\\`/[^/:|]+[|:]" directory))
       (file-directory-p directory)
       (file-name-as-directory (file-truename directory))))

(defun eca-context-serve--project (directory)
  "Return the project that DIRECTORY is in if the user has a file of it open.
Where there is no project it is DIRECTORY; never the home folder or one around."
  (let* ((project (let ((inhibit-interaction t)
                        (non-essential t)
                        (inhibit-message t))
                    (condition-case nil
                        (project-current nil directory)
                      (error nil))))
         (root (if project
                   (file-name-as-directory (expand-file-name (project-root project)))
                 directory)))
    (and (not (string-prefix-p (file-truename root) (file-truename (expand-file-name "~/"))))
         (eca-context-files-at-once (eca-context-files-current (list root)))
         root)))

;;;; Requests

(defun eca-context-serve--hear ()
  "Take the requests that have come, each in a turn of its own."
  (dolist (request (eca-context-module-serve-poll))
    (eca-context-job-soon #'eca-context-serve--take request)))

(defun eca-context-serve--take (request)
  "Answer REQUEST, now or later."
  (let* ((client (plist-get request :client))
         (id (plist-get request :id))
         (method (plist-get request :method))
         (params (plist-get request :params))
         (default-directory temporary-file-directory)
         (trouble (condition-case err
                      (save-match-data
                        (eca-context-log-note (format "%s of client %s asks %s" id client method)
                                              params)
                        (eca-context-serve--dispatch client id method params)
                        nil)
                    (error (error-message-string err)))))
    (when trouble
      (eca-context-serve--refuse client id -32603 trouble))))

(defun eca-context-serve--dispatch (client id method params)
  "Have request ID of CLIENT for METHOD with PARAMS answered."
  (cond
   ((equal method "editor/hello")
    (eca-context-serve--send client id (eca-context-module-result-frame
                                        id (eca-context-serve--hello
                                            (plist-get params :workingDirectory)))))
   ((member method eca-context-serve--methods)
    (let ((limit (plist-get params :timeLimitMs)))
      (eca-context-answer
       id method params
       (list :roots (cdr (eca-context-serve--roots (plist-get params :workingDirectory)))
             :deadline (+ (float-time) (if (natnump limit)
                                           (min eca-context-time-limit (/ limit 1000.0))
                                         eca-context-time-limit)))
       (lambda (frame) (eca-context-serve--send client id frame)))))
   (t (eca-context-serve--refuse client id -32601 (format "method %s is not answered here" method)))))

(defun eca-context-serve--hello (directory)
  "Return who this is, for an agent that works in DIRECTORY, a plist."
  (pcase-let* ((`(,why . ,roots) (eca-context-serve--roots directory))
               (known (not (equal why "none"))))
    (append (list :name (eca-context-serve--name)
                  :pid (emacs-pid)
                  :emacs emacs-version
                  :version eca-context-module-wanted-version
                  :why why
                  :roots (if known (vconcat (mapcar #'expand-file-name roots)) []))
            (and known (eca-context-serve--place roots)))))

(defun eca-context-serve--place (roots)
  "Return where the user is in ROOTS: `:current' with a path, and with a place.
Lines and characters count from 0."
  (when-let* ((file (eca-context-files-current roots))
              (buffer (find-buffer-visiting file)))
    (with-current-buffer buffer
      (save-excursion
        (save-restriction
          (widen)
          (let ((at (car (eca-context-position-sweep
                          (list (eca-context-document-cursor buffer))))))
            (list :current (list :path (expand-file-name file)
                                 :line (car at) :character (cdr at)))))))))

(defun eca-context-serve--refuse (client id code message)
  "Answer request ID of CLIENT with the error CODE and MESSAGE."
  (eca-context-serve--send client id (eca-context-module-error-frame
                                      id code (concat "eca-context: " message))))

(defun eca-context-serve--send (client id frame)
  "Send FRAME, the answer to request ID, to CLIENT, if it is there still."
  (eca-context-log-note (format "%s of client %s is answered" id client) frame)
  (eca-context-module-serve-answer client frame))

(provide 'eca-context-serve)
;;; eca-context-serve.el ends here
