;;; eca-context-server-list.el --- The language servers run for the agent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; M-x eca-context-list-servers shows them, M-x eca-context-stop-servers stops them.

;;; Code:

(require 'tabulated-list)
(require 'eca-context)
(require 'eca-context-headless)

(defvar eca-context-server-list-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map tabulated-list-mode-map)
    (define-key map "k" #'eca-context-server-list-stop)
    (define-key map (kbd "RET") #'eca-context-server-list-words)
    map)
  "Keys of `eca-context-server-list-mode'.")

(define-derived-mode eca-context-server-list-mode tabulated-list-mode "Servers"
  "Mode of the list of language servers that run for the agent.
\\<eca-context-server-list-mode-map>\\[eca-context-server-list-stop] stops one, \
\\[eca-context-server-list-words] shows its last words, \\[revert-buffer] looks again."
  (setq tabulated-list-format [("Server" 28 t) ("State" 9 t) ("Pid" 8 t) ("Memory" 8 nil)
                               ("Asked" 6 nil) ("Root" 30 t) ("Last words" 0 nil)])
  (setq tabulated-list-entries #'eca-context-server-list--entries)
  (tabulated-list-init-header))

(defun eca-context-server-list--entries ()
  "Return the lines of the list."
  (mapcar
   (lambda (server)
     (let ((memory (plist-get server :memoryBytes)))
       (list (plist-get server :id)
             (vector (plist-get server :name)
                     (plist-get server :state)
                     (number-to-string (plist-get server :pid))
                     (if memory (file-size-human-readable memory) "")
                     (number-to-string (plist-get server :nAsked))
                     (abbreviate-file-name (plist-get server :root))
                     (or (car (last (plist-get server :lastWords))) "")))))
   (eca-context-headless-servers)))

;;;###autoload
(defun eca-context-list-servers ()
  "Show the language servers that run for the agent."
  (interactive)
  (with-current-buffer (get-buffer-create "*eca-context servers*")
    (eca-context-server-list-mode)
    (tabulated-list-print)
    (display-buffer (current-buffer))))

(defun eca-context-server-list-stop ()
  "Stop the server of this line.
The next question that needs it starts it anew."
  (interactive nil eca-context-server-list-mode)
  (let ((id (tabulated-list-get-id)))
    (unless id
      (user-error "There is no server on this line"))
    (eca-context-headless-stop id)
    (tabulated-list-revert)))

(defun eca-context-server-list-words ()
  "Show what the server of this line said last."
  (interactive nil eca-context-server-list-mode)
  (let* ((id (tabulated-list-get-id))
         (server (seq-find (lambda (server) (eql id (plist-get server :id)))
                           (eca-context-headless-servers))))
    (unless server
      (user-error "That server is gone"))
    (message "%s" (or (string-join (last (plist-get server :lastWords) 10) "\n") ""))))

;;;###autoload
(defun eca-context-stop-servers ()
  "Stop all language servers that run for the agent."
  (interactive)
  (let ((n (length (eca-context-headless-servers))))
    (eca-context-headless-stop)
    (message "Stopped %d language servers" n)))

(provide 'eca-context-server-list)
;;; eca-context-server-list.el ends here
