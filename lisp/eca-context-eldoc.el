;;; eca-context-eldoc.el --- What eldoc's functions say  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The functions that eldoc would ask at point, each by itself and all of them, whatever the user's
;; strategy shows of them.  Nothing is displayed.

;;; Code:

(require 'cl-lib)
(require 'eldoc)
(require 'seq)
(require 'eca-context-job)

(defvar eldoc--make-callback)

(defconst eca-context-eldoc--skipped
  "\\`\\(?:eglot\\|lsp\\|flymake\\|flycheck\\|python-eldoc\\)-"
  "Regexp of functions that are not asked.
Language servers are asked directly, checkers for diagnostics; and what Python
mode asks is evaluated by the user's Python.")

(defconst eca-context-eldoc--patience 2
  "For how many seconds functions are waited for that promised to answer.")

(defun eca-context-eldoc-documentation (request callback)
  "Return what eldoc's functions say at point, an outcome, nil, or `:async'.
REQUEST and CALLBACK are those of `eca-context-job-run'."
  (let* ((functions (eca-context-eldoc--functions))
         (said (make-vector (length functions) 'waiting))
         (faults nil)
         (done nil)
         (timer nil)
         (outcomes (lambda ()
                     (eca-context-eldoc--outcomes (append said nil) functions faults)))
         (finish (lambda ()
                   (unless done
                     (setq done t)
                     (when timer (cancel-timer timer))
                     (save-match-data
                       (funcall callback (funcall outcomes)))))))
    (when functions
      (seq-do-indexed
       (lambda (function function-idx)
         (condition-case err
             (let ((value (eca-context-eldoc--call
                           function
                           (lambda (text &rest _)
                             (when (eq (aref said function-idx) 'waiting)
                               (aset said function-idx text)
                               (when (and timer (not (seq-contains-p said 'waiting #'eq)))
                                 (funcall finish)))
                             t))))
               (when (and (eq (aref said function-idx) 'waiting)
                          (or (null value) (stringp value)))
                 (aset said function-idx value)))
           ((error quit)
            (aset said function-idx nil)
            (push (eca-context-eldoc--fault function err) faults))))
       functions)
      (if (not (seq-contains-p said 'waiting #'eq))
          (funcall outcomes)
        (setq timer (run-at-time (max 0 (min eca-context-eldoc--patience
                                             (- (plist-get request :deadline) (float-time))))
                                 nil finish))
        :async))))

(defun eca-context-eldoc--functions ()
  "Return the functions to be asked in the current buffer."
  (let ((functions
         (if (memq eldoc-documentation-strategy
                   '(eldoc-documentation-default eldoc-documentation-compose
                     eldoc-documentation-compose-eagerly eldoc-documentation-enthusiast))
             (eca-context-job-functions 'eldoc-documentation-functions (current-buffer))
           ;; A function of the mode's own, or one around eldoc's: from before there was a list.
           (list eldoc-documentation-strategy))))
    (seq-remove (lambda (function)
                  (and (symbolp function)
                       (or (eq function #'ignore)
                           (string-match-p eca-context-eldoc--skipped (symbol-name function)))))
                (delete-dups functions))))

(defun eca-context-eldoc--call (function callback)
  "Call FUNCTION as eldoc does, with CALLBACK, and return its value."
  (let ((eldoc-message-function #'ignore)
        (eldoc--make-callback (lambda (&rest _) callback)))
    (save-excursion
      (if (eq function eldoc-documentation-strategy)
          (funcall function)
        (funcall function callback)))))

(defun eca-context-eldoc--fault (function err)
  "Return an outcome about ERR in FUNCTION."
  (list :provider (eca-context-eldoc--provider function) :kind "unknown"
        :status (if (eq (car err) 'inhibited-interaction) "would-prompt" "error")
        :reason (if (eq (car err) 'inhibited-interaction)
                    "it wanted to ask the user"
                  (error-message-string err))))

(defun eca-context-eldoc--provider (function)
  "Return how FUNCTION is called in an answer."
  (if (symbolp function) (format "eldoc %s" function) "eldoc"))

(defun eca-context-eldoc--outcomes (said functions faults)
  "Return the outcomes of FUNCTIONS: what each SAID, and FAULTS.
What one SAID is a text, or nil, or `waiting'."
  (let ((late (cl-loop for function in functions
                       for text in said
                       when (eq text 'waiting)
                       collect (list :provider (eca-context-eldoc--provider function)
                                     :kind "unknown" :status "timeout"
                                     :reason "it did not answer in time")))
        (items (cl-loop for text in said
                        when (and (stringp text) (not (string-blank-p text)))
                        collect (vector "hover" "plaintext" (substring-no-properties text)))))
    (append (and (or items (not (or late faults)))
                 (list (list :provider "eldoc" :kind "unknown" :status "ok" :items items)))
            (nreverse faults) late)))

(provide 'eca-context-eldoc)
;;; eca-context-eldoc.el ends here
