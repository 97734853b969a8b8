;;; eca-context-channel.el --- Hear of what threads have done  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The one pipe through which threads of the module wake Emacs.  A byte in it says that there is
;; something to fetch, not what: whoever may have news is called.  It knows nobody's news.

;;; Code:

(declare-function eca-context-module-open-channel "ext:eca-context-module" (process) t)

(defvar eca-context-channel--process nil
  "The pipe process through which news is announced.")

(defvar eca-context-channel--hearers nil
  "Functions that fetch news, called without arguments.")

(defun eca-context-channel-open (hearer)
  "Have HEARER called without arguments when there may be news.
That is in a process filter.  The module must be loaded."
  (unless (memq hearer eca-context-channel--hearers)
    (push hearer eca-context-channel--hearers))
  (unless (process-live-p eca-context-channel--process)
    (let* ((process-adaptive-read-buffering nil)
           (buffer-list-update-hook nil)
           (kill-buffer-query-functions nil)
           (process (make-pipe-process :name " eca-context" :noquery t :coding 'no-conversion
                                       :filter #'eca-context-channel--hear :sentinel #'ignore))
           (buffer (process-buffer process)))
      (set-process-buffer process nil)
      (kill-buffer buffer)
      (eca-context-module-open-channel process)
      (setq eca-context-channel--process process)
      ;; What was announced through a pipe that is gone.
      (eca-context-channel--hear))))

(defun eca-context-channel--hear (&rest _)
  "Have everybody look for news."
  (dolist (hearer eca-context-channel--hearers)
    (condition-case nil
        (save-match-data (funcall hearer))
      (error nil))))

(provide 'eca-context-channel)
;;; eca-context-channel.el ends here
