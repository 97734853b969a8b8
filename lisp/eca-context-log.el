;;; eca-context-log.el --- What was asked and what was sent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A bounded memory of requests and answers, off unless the user asks for it.  No buffer exists until
;; the user looks.

;;; Code:

(require 'seq)
(require 'eca-context)

(defconst eca-context-log--max-characters 10000
  "How much of each request or answer is remembered.")

(defvar eca-context-log--entries nil
  "The remembered entries, the newest first: strings.")

(defun eca-context-log-note (title what)
  "Remember TITLE and WHAT, a plist of params, a string, or nil.
A unibyte string is taken for UTF-8.  Does nothing unless `eca-context-log-size'
is a number."
  (when (natnump eca-context-log-size)
    (let ((text (cond ((null what) "")
                      ((not (stringp what)) (prin1-to-string what))
                      ((multibyte-string-p what) what)
                      (t (decode-coding-string what 'utf-8)))))
      (push (concat (format-time-string "%T.%3N ") title "\n"
                    (if (> (length text) eca-context-log--max-characters)
                        (format "%s… (%d characters)"
                                (substring text 0 eca-context-log--max-characters) (length text))
                      text))
            eca-context-log--entries)
      (setq eca-context-log--entries (seq-take eca-context-log--entries eca-context-log-size)))))

;;;###autoload
(defun eca-context-log ()
  "Show what was asked and what was sent, the newest last."
  (interactive)
  (let ((entries (reverse eca-context-log--entries)))
    (with-current-buffer (get-buffer-create "*eca-context-log*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (cond (entries (concat (mapconcat #'identity entries "\n\n") "\n"))
                      (eca-context-log-size "Nothing was asked yet.\n")
                      (t "The log is off; set `eca-context-log-size' to a number.\n"))))
      (special-mode)
      (goto-char (point-max))
      (pop-to-buffer (current-buffer)))))

(provide 'eca-context-log)
;;; eca-context-log.el ends here
