;;; eca-context-mcp-config.el --- What makes an agent ask this Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; M-x eca-context-mcp-config copies the `mcpServers' entry that starts `eca-context mcp'.  It writes no
;; file: agents keep their configuration in files of the user.

;;; Code:

(require 'json)
(require 'xdg)
(require 'eca-context-module)
(require 'eca-context-serve)

(defconst eca-context-mcp-config--agents '("any" "ECA" "Claude Code" "Claude Code, in a shell")
  "Whom a configuration can be for.")

;;;###autoload
(defun eca-context-mcp-config (&optional agent)
  "Copy the configuration for agents to start `eca-context mcp'.
It is JSON with the one key mcpServers, as ECA, Claude Code and most others read
it; the echo area says where to.  With a prefix argument AGENT is read, a member
of `eca-context-mcp-config--agents': for Claude Code it can be a shell command.
An error is signalled if the program is not there."
  (interactive
   (list (and current-prefix-arg
              (completing-read "For which agent: " eca-context-mcp-config--agents nil t))))
  (let* ((program (eca-context-mcp-config--program))
         (name (eca-context-serve-choice))
         (arguments (append '("mcp") (and name (list "--emacs" name)))))
    (kill-new (if (equal agent "Claude Code, in a shell")
                  (mapconcat #'shell-quote-argument
                             (append '("claude" "mcp" "add" "--scope" "user" "emacs" "--")
                                     (cons program arguments))
                             " ")
                (eca-context-mcp-config--json program arguments)))
    (message "Copied%s; %s%s"
             (if name (format " for the Emacs called %s" name) "")
             (eca-context-mcp-config--where agent)
             (if eca-context-serve-mode
                 ""
               (substitute-command-keys
                ".  This Emacs lets nobody in before \\[eca-context-serve-mode]")))))

(defun eca-context-mcp-config--json (program arguments)
  "Return the entry for PROGRAM with ARGUMENTS, a text."
  (format "{\n  \"mcpServers\": {\n    \"emacs\": { \"command\": %s, \"args\": %s }\n  }\n}\n"
          (json-encode program) (json-encode (vconcat arguments))))

(defun eca-context-mcp-config--where (agent)
  "Return in words where to put the entry for AGENT, nil for any."
  (let* ((file (expand-file-name "eca/config.json" (xdg-config-home)))
         (eca (format (if (file-exists-p file) "merge it into %s" "save it as %s")
                      (abbreviate-file-name file)))
         (claude ".mcp.json in a project's root"))
    (pcase agent
      ("ECA" eca)
      ("Claude Code" (concat "it goes into " claude))
      ("Claude Code, in a shell" "run it in a shell")
      (_ (format "%s (ECA), or %s (Claude Code)" eca claude)))))

;;;; The program

(defun eca-context-mcp-config--program ()
  "Return the absolute name of the program; signal an error if there is none.
That of this clone comes before one in the variable `exec-path'."
  (let* ((file (eca-context-mcp-config-file))
         (root (eca-context-mcp-config--root))
         (how (if (file-exists-p (expand-file-name "Cargo.toml" root))
                  (format "`make build-cli' in %s builds it" (abbreviate-file-name root))
                "`make build-cli' in a clone of eca-context builds it; put it where `exec-path' leads")))
    (cond ((not file) (user-error "The program eca-context is not there; %s" how))
          ((not (eca-context-mcp-config--serves-p file))
           (user-error "%s does not know MCP; %s" (abbreviate-file-name file) how)))
    file))

(defun eca-context-mcp-config-file ()
  "Return the absolute name of the program eca-context, or nil."
  (let* ((root (eca-context-mcp-config--root))
         (target (expand-file-name (or (getenv "CARGO_TARGET_DIR") "target") root))
         (program (lambda (folder)
                    (let ((file (expand-file-name
                                 (if (eq system-type 'windows-nt) "eca-context.exe" "eca-context")
                                 folder)))
                      (and (file-executable-p file) (not (file-directory-p file)) file)))))
    (or (funcall program (file-name-directory (eca-context-module-file)))
        (funcall program (expand-file-name "release" target))
        (let ((found (executable-find "eca-context")))
          (and found (expand-file-name found))))))

(defun eca-context-mcp-config--root ()
  "Return the folder of the clone that these Lisp files are of."
  (file-name-directory (directory-file-name (file-name-directory (eca-context-module-file)))))

(defun eca-context-mcp-config--serves-p (file)
  "Return non-nil if the program FILE can run here and has an MCP server in it."
  (let ((default-directory (file-name-directory file)))
    (condition-case nil
        (equal 0 (call-process file nil nil nil "mcp" "--help"))
      (error nil))))

(provide 'eca-context-mcp-config)
;;; eca-context-mcp-config.el ends here
