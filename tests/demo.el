;;; demo.el --- Ask a small project, print question and answer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; emacs -Q --batch -L lisp -l tests/demo.el -f demo
;;
;; The main job on a real small project, tests/demo/: the module, flymake with the byte compiler,
;; xref and imenu.  Only the agent's server is missing: its questions are asked from here, its
;; answers are printed here.  Exits with status 1 if an answer is not the right one.

;;; Code:

(require 'cl-lib)
(require 'flymake)
(require 'json)
(require 'url-util)
(require 'eca-context)
(require 'eca-context-collect)
(require 'eca-context-module)

(declare-function eca-context-answer "eca-context-collect" (id method params context send))

(defvar trusted-content)

(defconst demo-folder
  (expand-file-name "demo/" (file-name-directory (or load-file-name buffer-file-name)))
  "The small project.")

(defconst demo-max-seconds 20
  "How long to wait for a checker or an answer.")

(defun demo-wait (done what)
  "Wait until the function DONE returns non-nil; WHAT is waited for."
  (let ((deadline (+ (float-time) demo-max-seconds)))
    (while (not (funcall done))
      (when (> (float-time) deadline)
        (error "No %s within %d seconds" what demo-max-seconds))
      (accept-process-output nil 0.02))))

(defun demo-check (buffer)
  "Run flymake's checkers over BUFFER and wait for what they say."
  (with-current-buffer buffer
    ;; Emacs 30 compiles only what its user trusts; this file is our own.
    (setq-local trusted-content :all
                flymake-diagnostic-functions '(elisp-flymake-byte-compile
                                               elisp-flymake-checkdoc))
    (flymake-mode 1)
    (flymake-start)
    (demo-wait (lambda ()
                 (and (flymake-running-backends)
                      (null (cl-set-difference (flymake-running-backends)
                                               (flymake-reporting-backends)))))
               "report of the checkers")))

(defun demo-ask (id method params)
  "Ask METHOD with PARAMS as the request ID and return the answer's bytes."
  (let (frame)
    (eca-context-answer id method params
                        (list :roots (list demo-folder)
                              :deadline (+ (float-time) 10))
                        (lambda (bytes) (setq frame bytes)))
    (demo-wait (lambda () frame) "answer")
    (substring frame (+ 4 (string-match "\r\n\r\n" frame)))))

(defun demo-print (title json)
  "Print TITLE and the text JSON, indented, with each position on one line."
  (princ (format "\n%s\n" title))
  (princ (with-temp-buffer
           (insert json)
           (json-pretty-print-buffer)
           (goto-char (point-min))
           (while (re-search-forward "{\n *\\(\"line\": [0-9]+,\\)\n *\\(\"character\": [0-9]+\\)\n *}"
                                     nil t)
             (replace-match "{ \\1 \\2 }"))
           (goto-char (point-min))
           (while (re-search-forward "{\n *\\(\"start\": {.*},\\)\n *\\(\"end\": {.*}\\)\n *}" nil t)
             (replace-match "{ \\1 \\2 }"))
           (buffer-string)))
  (princ "\n"))

(defun demo-round (id method params)
  "Print METHOD with PARAMS and its answer to the request ID; return the result."
  (demo-print (format "── the server asks %s" method) (json-serialize params))
  (let* ((start (float-time))
         (body (decode-coding-string (demo-ask id method params) 'utf-8))
         (answer (json-parse-string body :object-type 'plist :array-type 'list
                                    :null-object nil :false-object nil)))
    (demo-print (format "── Emacs answers (%.1f ms)" (* 1000 (- (float-time) start))) body)
    (plist-get answer :result)))

(defun demo-expect (what got wanted)
  "Say whether GOT, which is WHAT the answer holds, is WANTED, and return it."
  (princ (format "%s %s: %S\n" (if (equal got wanted) "right" "WRONG") what got))
  (equal got wanted))

(defun demo-names (symbols)
  "Return the names and kinds in the tree SYMBOLS, in order."
  (mapcan (lambda (symbol)
            (cons (format "%s %s" (plist-get symbol :kind) (plist-get symbol :name))
                  (demo-names (plist-get symbol :children))))
          symbols))

(defun demo-start (range)
  "Return where RANGE starts as a list of line and character."
  (let ((start (plist-get range :start)))
    (list (plist-get start :line) (plist-get start :character))))

(defun demo ()
  "Ask for context and for diagnostics, print all, and exit."
  (let* ((coding-system-for-write 'utf-8)
         (vc-handled-backends nil)
         (file (expand-file-name "checkout.el" demo-folder))
         (uri (concat "file://" (url-hexify-string file (cons ?/ url-unreserved-chars)))))
    (set-terminal-coding-system 'utf-8)
    (add-to-list 'load-path demo-folder)
    (load (expand-file-name "cart.el" demo-folder) nil t t)
    (load file nil t t)
    (demo-check (find-file-noselect file))
    (princ (format "Emacs %s, the file %s\n" emacs-version (file-relative-name file)))
    (let* ((context (demo-round 1 "editor/getContext"
                                (list :uri uri :position '(:line 15) :symbol "cart-total")))
           (problems (demo-round 2 "editor/getDiagnostics"
                                 (list :uri uri :position '(:line 19 :character 4))))
           (symbol (plist-get context :symbolAtPosition))
           (definition (car (plist-get context :definitions)))
           (nearest (car (plist-get problems :diagnostics))))
      (princ "\n── checked\n")
      (kill-emacs
       (if (memq nil
                 (list
                  ;; A tab and an emoji, which counts two, stand before it.
                  (demo-expect "symbol" (plist-get symbol :text) "cart-total")
                  (demo-expect "its place" (demo-start (plist-get symbol :range)) '(15 40))
                  (demo-expect "definition in" (file-name-nondirectory
                                                (or (plist-get definition :uri) ""))
                               "cart.el")
                  (demo-expect "its place" (demo-start (plist-get definition :range)) '(11 7))
                  (demo-expect "symbols" (demo-names (plist-get context :documentSymbols))
                               '("variable checkout-currency" "function checkout-print"
                                 "function checkout-refund"))
                  (demo-expect "nearest problem" (demo-start (plist-get nearest :range))
                               '(19 3))
                  (demo-expect "its distance" (plist-get nearest :distance) 0)))
           1
         0)))))

(provide 'demo)
;;; demo.el ends here
