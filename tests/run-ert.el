;;; run-ert.el --- Run the tests of one file and count them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Called by run-ert.sh; knows no test.

;;; Code:

(require 'ert)

(declare-function eca-context-module-answer "ext:eca-context-module"
                  (id method params options facts) t)
(declare-function eca-context-module-error-frame "ext:eca-context-module" (id code message) t)

(defvar eca-context-servers)

;;;; What the module answers is written down, for the schema to judge

(defun run-ert-record (method frame)
  "Write down FRAME, the answer to METHOD, and return it.
METHOD is a string or nil.  The file that the environment variable
ECA_CONTEXT_ANSWERS_FILE names gets a line with METHOD and the body."
  (let ((file (getenv "ECA_CONTEXT_ANSWERS_FILE"))
        (coding-system-for-write 'no-conversion)
        last-coding-system-used)
    (when file
      (save-match-data
        (write-region (concat "{\"method\":" (if method (format "%S" method) "null") ",\"body\":"
                              (substring frame (+ 4 (string-match "\r\n\r\n" frame))) "}\n")
                      nil file t 'silent)))
    frame))

(defun run-ert-record-answer (answer id method &rest arguments)
  "Call ANSWER with ID, METHOD and ARGUMENTS; write down what it returns."
  (run-ert-record method (apply answer id method arguments)))

(defun run-ert-record-error (frame)
  "Write down FRAME, a JSON-RPC error, and return it."
  (run-ert-record nil frame))

(defun run-ert-watch (&rest _)
  "Let the module's frames be written down, once the module is loaded.
Loading it again puts its functions in the place of advised ones."
  (when (fboundp 'eca-context-module-answer)
    (advice-add 'eca-context-module-answer :around #'run-ert-record-answer)
    (advice-add 'eca-context-module-error-frame :filter-return #'run-ert-record-error)))

;;;; The run

(defun run-ert-file ()
  "Run the tests of the file named on the command line and exit.
Writes \"PASSED FAILED SKIPPED\" into the file that the environment variable
ERT_COUNTS_FILE names.  The exit status is 0 if all went as expected.

No language server runs for the agent unless the file says which: what the
other providers say would be hidden by it."
  (let ((file (expand-file-name (pop command-line-args-left))))
    (setq eca-context-servers nil)
    (advice-add 'module-load :after #'run-ert-watch)
    (load file nil t t)
    (run-ert-watch)
    (let* ((ert-batch-backtrace-right-margin 120)
           (stats (ert-run-tests-batch))
           (n-failed (ert-stats-completed-unexpected stats))
           (n-skipped (ert-stats-skipped stats))
           (n-passed (ert-stats-completed-expected stats)))
      (when (zerop (ert-stats-total stats))
        (message "%s has no test" file))
      (with-temp-file (getenv "ERT_COUNTS_FILE")
        (insert (format "%d %d %d\n" n-passed n-failed n-skipped)))
      (kill-emacs (if (and (zerop n-failed) (> (ert-stats-total stats) 0)) 0 1)))))

(provide 'run-ert)
;;; run-ert.el ends here
