;;; eca-context-headless.el --- Language servers where the editor has none  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The module runs language servers for the agent alone; here is when it may, and what is asked.  Never
;; where the editor runs a server of that language itself, and only in folders that the user allows.
;; Answers wake Emacs through a pipe; nothing waits for them.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'eca-context)
(require 'eca-context-channel)
(require 'eca-context-document)
(require 'eca-context-eglot)
(require 'eca-context-files)
(require 'eca-context-hosts)
(require 'eca-context-lsp-mode)
(require 'eca-context-module)
(require 'eca-context-place)
(require 'eca-context-position)
(require 'eca-context-servers)

(declare-function eca-context-eca-roots "eca-context-eca" ())
(declare-function eca-context-eca-wrap "eca-context-eca" (command roots))
(declare-function eca-context-module-lsp-ask "ext:eca-context-module"
                  (ask max-servers idle-seconds) t)
(declare-function eca-context-module-lsp-make-way "ext:eca-context-module" (name path) t)
(declare-function eca-context-module-lsp-poll "ext:eca-context-module" () t)
(declare-function eca-context-module-lsp-root "ext:eca-context-module" (path folders markers) t)
(declare-function eca-context-module-lsp-running-p "ext:eca-context-module" (name root) t)
(declare-function eca-context-module-lsp-servers "ext:eca-context-module" () t)
(declare-function eca-context-module-lsp-stop "ext:eca-context-module" (id max-ms) t)
(declare-function eca-context-module-lsp-who-named "ext:eca-context-module" (name path) t)

(defcustom eca-context-headless-roots 'session
  "In which folders language servers may be run for the agent.
A server reads the files of its folder; the servers of `eca-context-servers'
run nothing of what they read."
  :type '(choice (const :tag "The workspace folders of the ECA session" session)
                 (const :tag "None" nil)
                 (repeat :tag "These folders, where the session has them" directory))
  :group 'eca-context)

(defcustom eca-context-max-servers 3
  "How many language servers are run for the agent at once.
One that was not asked for half a minute makes room for another."
  :type 'natnum
  :group 'eca-context)

(defcustom eca-context-server-idle-time 600
  "After how many seconds without a question a language server is stopped."
  :type 'natnum
  :group 'eca-context)

(defcustom eca-context-server-wrapper-function nil
  "Function that wraps the command of a language server, as a sandbox does.
It is called with the command, a list of strings, and a list with the folder
that the server must be able to read, and returns a command.  Nil: what
eca-emacs has in `eca-process-wrapper-function' is used, if anything."
  :type '(choice (const :tag "As eca-emacs does for its server" nil) function)
  :group 'eca-context)

(defconst eca-context-headless--patience 2
  "For how many seconds a server that is starting is waited for.")

(defvar eca-context-headless--used nil
  "Non-nil if any server was ever asked.")

(defvar eca-context-headless--waiting (make-hash-table)
  "What is to be called with the answer to each token.")

;;;; Providers

(defun eca-context-headless-definitions (request callback)
  "Have a language server find the definitions of the symbol at point.
REQUEST and CALLBACK are those of `eca-context-job-run'."
  (eca-context-headless--provide request callback "textDocument/definition"
                                 '(:role "definition") t))

(defun eca-context-headless-references (request callback)
  "Have a language server find the references to the symbol at point.
REQUEST and CALLBACK are those of `eca-context-job-run'."
  (eca-context-headless--provide request callback "textDocument/references" nil t))

(defun eca-context-headless-documentation (request callback)
  "Have a language server tell about the symbol at point.
REQUEST and CALLBACK are those of `eca-context-job-run'."
  (eca-context-headless--provide request callback "textDocument/hover" '(:role "hover") t))

(defun eca-context-headless-diagnostics (request callback)
  "Have a language server check the current buffer's text.
REQUEST and CALLBACK are those of `eca-context-job-run'.  Where REQUEST is about
everything, nothing is started."
  (eca-context-headless--provide request callback "textDocument/diagnostic" nil
                                 (not (plist-get request :everywhere))))

(defun eca-context-headless-symbols (request callback)
  "Have a language server that is up already list the buffer's symbols.
REQUEST and CALLBACK are those of `eca-context-job-run'."
  (eca-context-headless--provide request callback "textDocument/documentSymbol" nil nil))

;;;; Who may be asked

(defun eca-context-headless--provide (request callback method keys starts)
  "Ask a server METHOD about point for REQUEST, and tell CALLBACK.
Return `:async'.  KEYS are added to the outcome.  Unless STARTS, no server is
started.  If there is none to ask, return an outcome about that, or nil."
  (let* ((path (plist-get request :path))
         (found (eca-context-servers-find path))
         (row (car found)))
    (cond
     ((file-remote-p path) nil)
     ((null row) (and starts
                      ;; There are checkers of other kinds.
                      (not (equal method "textDocument/diagnostic"))
                      (eca-context-headless--unknown path)))
     ((eca-context-headless--editor-serves-p row path) nil)
     (t (let* ((place (eca-context-headless--place row path (plist-get request :roots)))
               (root (car place))
               (runs (and root (eca-context-module-lsp-running-p (symbol-name (car row)) root)))
               (launch (and root (not runs) starts (cdr place)
                            (eca-context-headless--launch row root))))
          (cond
           ((null place) nil)
           ((null root)
            (and starts (eca-context-headless--trouble row "disabled" (cdr place))))
           ((stringp launch)
            (eca-context-headless--trouble row "install" (concat "unavailable: " launch)))
           ((or runs launch)
            (eca-context-headless--ask
             (append (list :row (append (list :name (symbol-name (car row))) launch)
                           :root root :path path :languageId (cdr found) :method method
                           :starts (and launch t)
                           :unsaved (eca-context-headless--unsaved row root))
                     (eca-context-headless--text-and-point path request))
             (plist-get request :deadline)
             (lambda (answer)
               (funcall callback (eca-context-headless--outcome row answer keys)))))))))))

(defun eca-context-headless--unknown (path)
  "Return the outcome of there being no server known for PATH."
  (list :provider "" :kind "unknown" :status "no-provider"
        :reason (format "no language server is known for %s; known: %s (`eca-context-servers')"
                        (file-name-nondirectory path) (eca-context-servers-titles))))

(defun eca-context-headless--trouble (row status reason)
  "Return the outcome of ROW's server that has STATUS for REASON."
  (list :provider (symbol-name (car row)) :kind "semantic" :status status :reason reason))

(defun eca-context-headless--editor-serves-p (row path)
  "Return non-nil if PATH has a server of the language ROW in the editor itself.
Then ours, should one run there, is stopped."
  (when (or (eca-context-eglot-serves-p path)
            (eca-context-lsp-mode-serves-p
             path (lambda (file) (eq row (car (eca-context-servers-find file))))))
    (when eca-context-headless--used
      (eca-context-module-lsp-make-way (symbol-name (car row)) path))
    t))

(defun eca-context-headless--place (row path roots)
  "Return (ROOT . MAY-START) for a server of ROW that is asked about PATH.
ROOTS are the session's workspace folders.  ROOT nil: it may not be asked, and
the cdr says why.  Nil if there is no session at all."
  (let* ((folders (eca-context-headless--folders roots))
         (root (eca-context-module-lsp-root path (vconcat (mapcar #'expand-file-name folders))
                                            (vconcat (plist-get (cdr row) :roots)))))
    (cond
     (root (cons root t))
     ;; An answer has named it: a library's source, say.
     ((when-let ((root (and eca-context-headless--used
                            (eca-context-module-lsp-who-named (symbol-name (car row)) path))))
        (cons root nil)))
     ((or folders (not (eq eca-context-headless-roots 'session)))
      (cons nil (format "no language server is run for %s: %s" (file-name-nondirectory path)
                        (if eca-context-headless-roots
                            "it lies in no folder of `eca-context-headless-roots'"
                          "`eca-context-headless-roots' names no folder")))))))

(defun eca-context-headless--folders (roots)
  "Return the folders in which servers may run for a session with ROOTS.
Without ROOTS, when the user himself asks, those of all sessions count."
  (let ((roots (or roots (and (fboundp 'eca-context-eca-roots) (eca-context-eca-roots)))))
    (seq-remove #'eca-context-hosts-remote-p
                (if (eq eca-context-headless-roots 'session)
                    roots
                  (seq-filter (lambda (folder)
                                (or (null roots) (eca-context-files-inside-p folder roots)))
                              eca-context-headless-roots)))))

(defun eca-context-headless--launch (row root)
  "Return a plist, how ROW's server is started in ROOT.
A string is what is missing for that."
  (let* ((program (eca-context-servers-program row root))
         (options (and program (eca-context-servers-options row program root))))
    (cond
     ((null program) (plist-get (cdr row) :install))
     ((stringp options) options)
     (t (pcase-let ((`(,command . ,tells)
                     (eca-context-headless--wrapped
                      (cons program (cdr (plist-get (cdr row) :command))) root)))
          (list :command (vconcat command)
                ;; As a process that Emacs starts; its own environment knows nothing of `setenv'.
                :environment (vconcat (default-value 'process-environment))
                :tellsProcessId tells
                :settings (plist-get (cdr row) :settings)
                :initializationOptions options
                :loaded (plist-get (cdr row) :loaded)
                :settleMs (round (* 1000 (or (plist-get (cdr row) :settle) 2)))))))))

(defun eca-context-headless--wrapped (command root)
  "Return (COMMAND . TELLS-PROCESS-ID) as COMMAND is to be run for ROOT.
A program of a wrapper is absolute, too, or signals an error."
  (let* ((wrapped (cond (eca-context-server-wrapper-function
                         (list (funcall eca-context-server-wrapper-function command (list root))))
                        ((fboundp 'eca-context-eca-wrap)
                         (eca-context-eca-wrap command (list root)))
                        (t (cons command t))))
         (program (caar wrapped))
         (found (let ((default-directory temporary-file-directory))
                  (executable-find program))))
    (unless found
      (error "The wrapper's program %s is not in `exec-path'" program))
    (cons (cons (expand-file-name found) (cdar wrapped)) (cdr wrapped))))

;;;; Asking

(defun eca-context-headless--text-and-point (path request)
  "Return where point is, and the text of PATH if what is on disk will not do.
REQUEST says whether the current buffer is a copy of the file."
  (let ((at (car (eca-context-position-sweep (list (point)))))
        (text (car (eca-context-document-texts path (not (plist-get request :copy))))))
    (list :line (car at) :character (cdr at) :text (and text (aref text 1)))))

(defun eca-context-headless--unsaved (row root)
  "Return the unsaved texts of ROW's language in ROOT, but the current buffer's.
Each is a vector of a file's name, its language id and the text."
  (let ((asked (current-buffer))
        (left eca-context-place-most))
    (vconcat
     (delq nil
           (mapcar
            (lambda (buffer)
              (with-current-buffer buffer
                (when (and buffer-file-name (buffer-modified-p) (not (eq buffer asked))
                           (eca-context-files-shown-p buffer-file-name (list root))
                           (eq buffer (eca-context-document-buffer buffer-file-name)))
                  (let ((found (eca-context-servers-find buffer-file-name)))
                    (when (and (eq (car found) row) (<= (buffer-size) left))
                      (setq left (- left (buffer-size)))
                      (vector buffer-file-name (cdr found)
                              (aref (eca-context-place-text buffer-file-name t) 1)))))))
            (buffer-list))))))

(defun eca-context-headless--ask (ask deadline done)
  "Ask the module ASK, call DONE with its answer, and return `:async'.
DEADLINE is a `float-time'."
  (eca-context-channel-open #'eca-context-headless--hear)
  (setq eca-context-headless--used t)
  (add-hook 'kill-emacs-hook #'eca-context-headless-stop)
  (let ((token (eca-context-module-lsp-ask
                (append ask
                        (list :deadlineMs (max 0 (floor (* 1000 (- deadline (float-time)))))
                              :patienceMs (* 1000 eca-context-headless--patience)))
                eca-context-max-servers eca-context-server-idle-time)))
    (puthash token done eca-context-headless--waiting)
    :async))

(defun eca-context-headless--hear ()
  "Pass on what servers have answered."
  (dolist (answer (eca-context-module-lsp-poll))
    (let* ((token (plist-get answer :token))
           (done (gethash token eca-context-headless--waiting)))
      (remhash token eca-context-headless--waiting)
      (when done
        (condition-case nil
            (save-match-data (funcall done answer))
          (error nil))))))

(defun eca-context-headless--outcome (row answer keys)
  "Return the outcome that the ANSWER of ROW's server is; KEYS are added to it."
  (let ((status (plist-get answer :status)))
    (append (list :provider (symbol-name (car row)) :kind "semantic" :status status)
            (cond
             ((not (equal status "ok"))
              (list :reason (plist-get answer :reason) :retry (plist-get answer :retry)))
             ((plist-member answer :items)
              (list :items (plist-get answer :items) :fresh (plist-get answer :fresh)))
             (t (append (list :rawJson (plist-get answer :result)
                              :encoding (plist-get answer :encoding))
                        (and (plist-get answer :declarations)
                             (list :declarationsJson (plist-get answer :declarations)))
                        keys))))))

(defun eca-context-headless-servers ()
  "Return the servers that run, or crashed last, a list of plists."
  (and eca-context-headless--used (eca-context-module-lsp-servers)))

(defun eca-context-headless-named-p (path)
  "Return non-nil if an answer of a running server named PATH."
  (and eca-context-headless--used
       (seq-some (lambda (row) (eca-context-module-lsp-who-named (symbol-name (car row)) path))
                 eca-context-servers)))

(defun eca-context-headless-keep (roots)
  "Stop the servers that run for none of the folders ROOTS."
  (eca-context-hosts-left-alone
    (dolist (server (eca-context-headless-servers))
      (unless (and roots (eca-context-files-inside-p
                          (file-name-as-directory (plist-get server :root)) roots))
        (eca-context-module-lsp-stop (plist-get server :id) 0)))))

(defun eca-context-headless-stop (&optional id)
  "Stop the server with ID, or all, waiting at most 0.3 seconds for their end."
  (when eca-context-headless--used
    (eca-context-module-lsp-stop id 300)))

(provide 'eca-context-headless)
;;; eca-context-headless.el ends here
