;;; eca-context.el --- Editor context for AI agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, languages
;; URL: https://github.com/editor-code-assistant/eca-emacs

;;; Commentary:

;; An agent asks through eca-emacs; Emacs answers with what it knows: the symbol at a position, its
;; definitions, the symbols of a document, the diagnostics near a place.

;;; Code:

(require 'easymenu)
(require 'eca-context-module)

(autoload 'eca-context-at-point "eca-context-report"
  "Show what an agent would be told about point." t)
(autoload 'eca-context-doctor "eca-context-report"
  "Show versions, and what each provider would say at point." t)
(autoload 'eca-context-list-servers "eca-context-server-list"
  "Show the language servers that run for the agent." t)
(autoload 'eca-context-stop-servers "eca-context-server-list"
  "Stop all language servers that run for the agent." t)
(autoload 'eca-context-serve-mode "eca-context-serve"
  "Let agents of this user ask through a socket (MCP)." t)
(autoload 'eca-context-mcp-config "eca-context-mcp-config"
  "Copy the configuration for agents to start `eca-context mcp'." t)
(autoload 'eca-context-log "eca-context-log" "Show what was asked and what was sent." t)

(declare-function eca-context-collect-unload "eca-context-collect")
(declare-function eca-context-collect-unwatch "eca-context-collect")
(declare-function eca-context-collect-watch "eca-context-collect")
(declare-function eca-context-eca-install "eca-context-eca")
(declare-function eca-context-eca-uninstall "eca-context-eca")

(defgroup eca-context nil
  "Editor context for AI agents."
  :group 'tools
  :prefix "eca-context-")

(defcustom eca-context-disabled-features nil
  "Features that are switched off: advertised false, and `disabled' when asked for.
A running server learns of it by \\[eca-restart]; it is not answered from now on."
  :type '(set (const :tag "Symbol at a position" "symbolAtPosition")
              (const :tag "Definitions" "definitions")
              (const :tag "References" "references")
              (const :tag "Symbols of a document" "documentSymbols")
              (const :tag "Symbols around a position" "enclosingSymbols")
              (const :tag "Documentation" "documentation")
              (const :tag "What is open in the editor" "workspace")
              (const :tag "Diagnostics" "diagnostics"))
  :group 'eca-context)

(defcustom eca-context-time-limit 10
  "Seconds within which every request is answered with what is known."
  :type 'number
  :group 'eca-context)

(defcustom eca-context-limit 100
  "Most items in each list where the request does not say."
  :type 'natnum
  :group 'eca-context)

(defcustom eca-context-report-not-checked t
  "Whether a diagnostics answer that nobody checked says so in one entry.
Agents read an empty list as \"clean\"."
  :type 'boolean
  :group 'eca-context)

(defcustom eca-context-excluded-files
  '("/\\.env\\(rc\\|\\.[^/]*\\)?\\'" "\\.gpg\\'" "\\.pem\\'" "\\.key\\'" "/\\.netrc\\'"
    "/\\.authinfo\\(\\.[^/]*\\)?\\'" "/id_\\(rsa\\|dsa\\|ecdsa\\|ed25519\\)\\'")
  "Regexps of absolute file names that appear nowhere in an answer.
Case does not matter; backups and autosaves of such files count as such."
  :type '(repeat regexp)
  :group 'eca-context)

(defcustom eca-context-tell-open-files t
  "Whether an agent that asks for the workspace is told which files are open."
  :type 'boolean
  :group 'eca-context)

(defcustom eca-context-tell-selection t
  "What an agent that asks for the workspace is told of an active region."
  :type '(choice (const :tag "Where it is, and its text" t)
                 (const :tag "Where it is" place)
                 (const :tag "Nothing" nil))
  :group 'eca-context)

(defcustom eca-context-log-size nil
  "How many requests and answers are remembered for `eca-context-log'.
Nil remembers none."
  :type '(choice (const :tag "None" nil) natnum)
  :group 'eca-context)

(defun eca-context-options ()
  "Return the options that the module needs, a plist."
  (list :disabled eca-context-disabled-features
        :limit eca-context-limit
        :maxLimit 1000
        :notChecked (and eca-context-report-not-checked t)))

(defvar eca-context-mode-map (make-sparse-keymap)
  "Keymap of `eca-context-mode': no keys, only the entry in the menu Tools.")

(easy-menu-define eca-context-menu nil
  "Menu of `eca-context-mode'."
  '("Editor Context for Agents"
    ["Show Context at Point" eca-context-at-point
     :help "Show what an agent would be told about point" :active buffer-file-name]
    ["Show Log" eca-context-log :help "Show what was asked and what was sent"]
    ["Doctor" eca-context-doctor :help "Show versions, and what each provider says here"]
    ["Language Servers" eca-context-list-servers
     :help "Show the language servers that run for the agent"]
    ["Serve Agents (MCP)" eca-context-serve-mode
     :help "Let agents of this user ask through a socket"
     :style toggle :selected (bound-and-true-p eca-context-serve-mode)]
    ["Copy MCP Configuration" eca-context-mcp-config
     :help "Copy what makes ECA, Claude Code or another agent ask this Emacs"]
    "---"
    ["Customize" (customize-group 'eca-context) :help "Switch features off, set limits"]
    ["Switch Off" (eca-context-mode -1) :help "Leave the agent server without answers"]))

(define-key eca-context-mode-map [menu-bar tools eca-context]
  (cons "Editor Context for Agents" eca-context-menu))

;;;###autoload
(define-minor-mode eca-context-mode
  "Answer what the agent server of eca-emacs asks about the editor.
Without a usable module the mode says so and stays off."
  :global t
  :group 'eca-context
  (require 'eca-context-eca)
  (if (not eca-context-mode)
      (progn (eca-context-eca-uninstall)
             (unless (bound-and-true-p eca-context-serve-mode)
               (eca-context-collect-unwatch)))
    (let ((trouble (or (eca-context-module-trouble) (eca-context-eca-install))))
      (if (not trouble)
          (eca-context-collect-watch)
        (setq eca-context-mode nil)
        (eca-context-eca-uninstall)
        (message "eca-context: %s" trouble)))))

(defun eca-context-unload-function ()
  "Switch all off before this file is unloaded; signal an error while it is asked."
  (when (featurep 'eca-context-collect)
    (eca-context-collect-unload)))

(provide 'eca-context)
;;; eca-context.el ends here
