;;; mcp-config-test.el --- Tests of the configuration for agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What `eca-context-mcp-config' copies is parsed, started as ECA starts it (in a folder of the workspace)
;; and asked, while this Emacs answers.  The program is the one that `make test-rust' builds.

;;; Code:

(require 'cl-lib)
(require 'guest)
(require 'eca-context-mcp-config)
(require 'eca-context-report)

(defconst mcp-config-test-program
  (expand-file-name "debug/eca-context"
                    (expand-file-name (or (getenv "CARGO_TARGET_DIR") "target")))
  "The program.")

(defvar mcp-config-test-said nil
  "What was in the echo area last.")

(defmacro mcp-config-test-with (folder &rest body)
  "Evaluate BODY with a project in FOLDER, and the program in its folder bin.
The variable `mcp-config-test-said' has what was in the echo area."
  (declare (indent 1) (debug (symbolp body)))
  `(guest-with-folder ,folder
     (unless (file-executable-p mcp-config-test-program)
       (error "There is no %s; `make test-rust' builds it" mcp-config-test-program))
     ;; It is loaded from where it is.
     (should-not (eca-context-module-trouble))
     (let* ((process-environment (append (list (concat "XDG_RUNTIME_DIR=" ,folder)
                                               (concat "XDG_CONFIG_HOME=" ,folder)
                                               (concat "CARGO_TARGET_DIR=" ,folder "target"))
                                         process-environment))
            (exec-path (cons (concat ,folder "bin") exec-path))
            (eca-context-module--folder (concat ,folder "clone/lisp/"))
            (eca-context-serve-name nil)
            (server-process nil)
            (kill-ring nil)
            (kill-ring-yank-pointer nil)
            (interprogram-cut-function nil)
            (mcp-config-test-said nil)
            (repo (concat (file-truename ,folder) "repo/")))
       (ignore repo)
       (dolist (name '("bin" "clone/lisp" "target/release" "repo/.git"))
         (make-directory (concat ,folder name) t))
       (make-symbolic-link mcp-config-test-program (concat ,folder "bin/eca-context"))
       (guest-write (concat ,folder "repo/one.el") "(defun mcp-config-test--one ())\n\n(mcp-config-test--one)\n")
       (unwind-protect
           (cl-letf (((symbol-function 'message)
                      (lambda (format &rest arguments)
                        (setq mcp-config-test-said
                              (and format (apply #'format-message format arguments))))))
             ,@body)
         (eca-context-serve-mode -1)))))


(defun mcp-config-test-copied (&optional agent)
  "Return the entry for AGENT that is copied, a plist."
  (eca-context-mcp-config agent)
  (let ((json (json-parse-string (current-kill 0 t) :object-type 'plist :array-type 'list)))
    (should (equal (cl-loop for (key) on json by #'cddr collect key) '(:mcpServers)))
    (should (equal (cl-loop for (key) on (plist-get json :mcpServers) by #'cddr collect key)
                   '(:emacs)))
    (plist-get (plist-get json :mcpServers) :emacs)))

;;;; A client

(defun mcp-config-test-start (entry directory)
  "Start what ENTRY says in DIRECTORY."
  (let ((default-directory directory))
    (make-process :name "mcp" :buffer (generate-new-buffer " *mcp*") :connection-type 'pipe
                  :command (cons (plist-get entry :command) (plist-get entry :args))
                  :coding 'utf-8-unix :sentinel #'ignore :noquery t)))

(defun mcp-config-test-ask (process id method params)
  "Return the result of request ID, METHOD with PARAMS, of PROCESS."
  (process-send-string process (concat (json-serialize (list :jsonrpc "2.0" :id id :method method
                                                             :params params))
                                       "\n"))
  (let ((deadline (+ (float-time) 30)))
    (with-current-buffer (process-buffer process)
      (while (progn (goto-char (point-min))
                    (not (re-search-forward "^{.*}\n" nil t)))
        (when (> (float-time) deadline)
          (error "No answer to %s" method))
        (accept-process-output nil 0.01))
      (let ((body (json-parse-string (match-string 0) :object-type 'plist :array-type 'list
                                     :null-object nil :false-object nil)))
        (delete-region (point-min) (point))
        (should (equal (plist-get body :id) id))
        (plist-get body :result)))))

(ert-deftest mcp-config-test-is-what-an-agent-starts ()
  (mcp-config-test-with folder
    (eca-context-serve-mode 1)
    (should eca-context-serve-mode)
    (load (concat repo "one.el") nil t t)
    (with-current-buffer (find-file-noselect (concat repo "one.el"))
      (goto-char (point-max))
      (insert "(defun two () (mcp-config-test--one))\n")
      (let* ((entry (mcp-config-test-copied))
             (process (mcp-config-test-start entry repo))
             (id 1)
             (call (lambda (tool &rest arguments)
                     (mcp-config-test-ask
                      process (cl-incf id) "tools/call"
                      (list :name tool :arguments (or arguments (make-hash-table)))))))
        (unwind-protect
            (progn
              (should (equal entry (list :command (concat folder "bin/eca-context")
                                         :args '("mcp"))))
              (should (equal (plist-get
                              (plist-get
                               (mcp-config-test-ask
                                process 1 "initialize"
                                (list :protocolVersion "2025-06-18"
                                      :capabilities (list :roots (make-hash-table))
                                      :clientInfo '(:name "tests" :version "1")))
                               :serverInfo)
                              :name)
                             "eca-context"))
              (process-send-string
               process "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
              (should (equal (sort (mapcar (lambda (tool) (plist-get tool :name))
                                           (plist-get (mcp-config-test-ask
                                                       process (cl-incf id) "tools/list"
                                                       (make-hash-table))
                                                      :tools))
                                   #'string<)
                             '("editor_context" "editor_definition" "editor_diagnostics"
                               "editor_references" "editor_symbols")))
              ;; The text that is not on disk, too.
              (pcase-dolist
                  (`(,part . ,question)
                   '(("one\\.el:1\\b.*(defun mcp-config-test--one" "editor_definition"
                      :path "one.el" :line 4 :symbol "mcp-config-test--one")
                     ("^ *3:2\\b.*(mcp-config-test--one)" "editor_references"
                      :path "one.el" :line 1 :symbol "mcp-config-test--one")
                     ("\\btwo\\b" "editor_symbols" :path "one.el")
                     ("one\\.el:1\\b.*(defun mcp-config-test--one" "editor_context"
                      :path "one.el" :line 3 :symbol "mcp-config-test--one")
                     ("no checker" "editor_diagnostics" :path "one.el")))
                (let ((said (apply call question)))
                  (should (eq (plist-get said :isError)
                              (and (equal part "no checker") t)))
                  (setq said (plist-get (car (plist-get said :content)) :text))
                  (should (string-match-p part said))
                  (should (string-match-p (format "Emacs emacs (pid %d)" (emacs-pid)) said)))))
          (delete-process process)
          (kill-buffer (process-buffer process))
          (set-buffer-modified-p nil)
          (kill-buffer))))))

(ert-deftest mcp-config-test-whom-it-is-for ()
  (mcp-config-test-with folder
    (let ((entry (mcp-config-test-copied))
          (config (concat folder "eca/config.json")))
      (should (string-match-p (concat "save it as " (regexp-quote (abbreviate-file-name config))
                                      " (ECA), or .*\\.mcp\\.json.*(Claude Code)"
                                      ".*nobody in before M-x eca-context-serve-mode")
                              mcp-config-test-said))
      (should (equal entry (mcp-config-test-copied "Claude Code")))
      (should (string-match-p "\\.mcp\\.json" mcp-config-test-said))
      (make-directory (file-name-directory config))
      (guest-write config "{}")
      (should (equal entry (mcp-config-test-copied "ECA")))
      (should (string-match-p "merge it into" mcp-config-test-said))
      (should-not (string-match-p "Claude" mcp-config-test-said)))
    (let ((eca-context-serve-name "my work"))
      (eca-context-mcp-config "Claude Code, in a shell")
      (should (equal (split-string-and-unquote (current-kill 0 t))
                     (list "claude" "mcp" "add" "--scope" "user" "emacs" "--"
                           (concat folder "bin/eca-context") "mcp" "--emacs" "my_work"))))
    ;; It asks nothing but for whom, and that only with a prefix argument.
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt collection &rest _) (car (last collection)))))
      (call-interactively #'eca-context-mcp-config)
      (should (string-prefix-p "{" (current-kill 0 t)))
      (let ((current-prefix-arg '(4)))
        (call-interactively #'eca-context-mcp-config)
        (should (string-prefix-p "claude mcp add" (current-kill 0 t)))))))

(ert-deftest mcp-config-test-names-an-emacs-where-it-must ()
  (mcp-config-test-with folder
    (let ((arguments (lambda () (plist-get (mcp-config-test-copied) :args))))
      ;; The name of the socket's file is the one that `--emacs' finds.
      (pcase-dolist (`(,name . ,file) `((nil . nil) ("server" . nil) ("work" . "work")
                                        ("my wörk" . "my_w_rk") ("" . nil)
                                        (,(make-string 40 ?a) . ,(make-string 32 ?a))))
        (let ((eca-context-serve-name name)
              (wanted (if file (list "mcp" "--emacs" file) '("mcp"))))
          (should (equal (funcall arguments) wanted))
          (eca-context-serve-mode 1)
          (should (equal (funcall arguments) wanted))
          (eca-context-serve-mode -1)))
      (eca-context-serve-mode 1)
      (should-not (string-match-p "serve-mode" mcp-config-test-said))
      (let ((others (file-name-directory eca-context-serve--socket)))
        ;; One that has gone leaves its socket behind.
        (guest-write (concat others "server.99999999") "")
        (should (equal (funcall arguments) '("mcp")))
        (guest-write (concat others "server.1") "")
        (should (equal (funcall arguments) '("mcp" "--emacs" "emacs")))
        (should (string-match-p "the Emacs called emacs" mcp-config-test-said))))))

(ert-deftest mcp-config-test-which-program ()
  (mcp-config-test-with folder
    (let ((command (lambda () (plist-get (mcp-config-test-copied) :command)))
          (script (lambda (file text)
                    (guest-write file (concat "#!/bin/sh\n" text "\n"))
                    (set-file-modes file #o755)))
          (built (concat folder "target/release/eca-context"))
          (beside (concat folder "clone/lisp/eca-context")))
      (should (equal (funcall command) (concat folder "bin/eca-context")))
      ;; This clone's own is of the right version.
      (funcall script built "exit 0")
      (should (equal (funcall command) built))
      (funcall script beside "exit 0")
      (should (equal (funcall command) beside))
      (with-temp-buffer
        (eca-context-report--insert-versions)
        (should (string-match-p (concat "^program +" (regexp-quote (abbreviate-file-name beside)))
                                (buffer-string))))
      ;; One that was built without MCP, and one that cannot run.
      (dolist (text '("exit 2" "exec /no/such"))
        (funcall script beside text)
        (should (string-match-p "does not know MCP.*make build-cli"
                                (cadr (should-error (eca-context-mcp-config) :type 'user-error)))))
      (guest-write beside "\177ELF")
      (should-error (eca-context-mcp-config) :type 'user-error)
      (mapc #'delete-file (list beside built (concat folder "bin/eca-context")))
      (setq exec-path (list (concat folder "bin")))
      (should (string-match-p "not there.*make build-cli. in a clone"
                              (cadr (should-error (eca-context-mcp-config) :type 'user-error))))
      (guest-write (concat folder "clone/Cargo.toml") "")
      (should (string-match-p (concat "make build-cli. in "
                                      (regexp-quote (abbreviate-file-name folder)) "clone/")
                              (cadr (should-error (eca-context-mcp-config) :type 'user-error))))
      (with-temp-buffer
        (eca-context-report--insert-versions)
        (should (string-match-p "^program +not built" (buffer-string)))))))

(ert-deftest mcp-config-test-is-in-the-menu ()
  (should (lookup-key eca-context-menu [Copy\ MCP\ Configuration]))
  (should (commandp #'eca-context-mcp-config)))

(provide 'mcp-config-test)
;;; mcp-config-test.el ends here
