;;; eca-context-servers.el --- Which language servers there are  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The table of language servers that may be run for the agent, and what follows from a row: for which
;; files it is, where its program lies, what it is told.  It starts nothing and knows no provider.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'eca-context)

(declare-function eca-context-module-lsp-tsserver "ext:eca-context-module" (programs root) t)

(defcustom eca-context-servers
  '((pyright
     :title "Python"
     :languages (("\\.pyi?\\'" . "python") (python-base-mode . "python") (python-mode . "python"))
     :command ("pyright-langserver" "--stdio")
     :install "install pyright — npm install -g pyright"
     :roots ("pyrightconfig.json" "pyproject.toml" "setup.py" "setup.cfg" "requirements.txt"
             "Pipfile" ".git")
     :loaded "source file"
     :settle 60)
    (typescript-language-server
     :title "TypeScript and JavaScript"
     :languages (("\\.[mc]?ts\\'" . "typescript") ("\\.tsx\\'" . "typescriptreact")
                 ("\\.[mc]?js\\'" . "javascript") ("\\.jsx\\'" . "javascriptreact")
                 (typescript-ts-mode . "typescript") (typescript-mode . "typescript")
                 (js-base-mode . "javascript") (js-mode . "javascript"))
     :command ("typescript-language-server" "--stdio")
     :install "install typescript-language-server — npm install -g typescript-language-server typescript"
     :roots ("package-lock.json" "yarn.lock" "pnpm-lock.yaml" "bun.lock" "bun.lockb" ".git")
     :initialization-options eca-context-servers-tsserver
     :settle 0))
  "Language servers that may be run for the agent where the editor has none.
A row is a name, as a symbol, and a plist:
`:title'      what it is for, for people.
`:languages'  conses of a regexp of file names, or a major mode, and LSP's
              language identifier; the first that fits a file counts.
`:command'    the program, to be found in variable `exec-path', and its
              arguments.
`:install'    what to do where the program is missing.
`:roots'      names of files or folders that mark a root: the nearest around
              the file, never above the session's workspace folder.
`:settings'   what the server is told of its configuration, a plist for JSON
              (t, `:json-false', strings, numbers, vectors and plists).
`:initialization-options' likewise, or a function that is called with the
              absolute program and the root and returns that, or a string that
              says what is missing.
`:loaded'     what it logs, among other words, when it has loaded the project,
              if it does.
`:settle'     for how many seconds after its start an answer is not believed
              that may be a fragment, default 2, unless it says before that it
              has loaded the project; 0 for one that answers only then.
A server that runs parts of the project it looks at, as some run build scripts,
does not belong here unless you trust every project an agent works on."
  :type '(alist :key-type (symbol :tag "Name") :value-type plist)
  :group 'eca-context)

(defun eca-context-servers-find (path)
  "Return (ROW . LANGUAGE-ID) of the server for PATH, or nil.
The current buffer holds the text of PATH; the name is looked at first."
  (or (eca-context-servers--find
       (lambda (what) (and (stringp what) (let (case-fold-search) (string-match-p what path)))))
      (eca-context-servers--find
       (lambda (what) (and (symbolp what) (derived-mode-p what))))))

(defun eca-context-servers--find (fits)
  "Return (ROW . LANGUAGE-ID) of the first language that FITS is t for, or nil."
  (seq-some (lambda (row)
              (when-let ((language (seq-find (lambda (language) (funcall fits (car language)))
                                             (plist-get (cdr row) :languages))))
                (cons row (cdr language))))
            eca-context-servers))

(defun eca-context-servers-titles ()
  "Return what the table is for, one string."
  (mapconcat (lambda (row) (or (plist-get (cdr row) :title) (symbol-name (car row))))
             eca-context-servers ", "))

(defun eca-context-servers-program (row root)
  "Return the absolute program of ROW, or nil if there is none.
What lies in ROOT is the project's, and not run."
  (let* ((exec-path (default-value 'exec-path))
         (default-directory temporary-file-directory)
         (program (executable-find (car (plist-get (cdr row) :command)))))
    (and program
         (not (file-in-directory-p (expand-file-name program) root))
         (expand-file-name program))))

(defun eca-context-servers-options (row program root)
  "Return the initialization options of ROW, which is run as PROGRAM for ROOT.
A string says what is missing."
  (let ((options (plist-get (cdr row) :initialization-options)))
    (if (functionp options) (funcall options program root) options)))

(defun eca-context-servers-tsserver (program root)
  "Return what typescript-language-server PROGRAM is told for the project ROOT.
It runs nothing of the project, and downloads nothing.  A string says what is
missing."
  (let ((exec-path (default-value 'exec-path))
        (default-directory temporary-file-directory))
    (eca-context-module-lsp-tsserver
     (vconcat (delq nil (list program (executable-find "tsserver")))) root)))

(provide 'eca-context-servers)
;;; eca-context-servers.el ends here
