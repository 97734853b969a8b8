;;; run-ert.el --- Run the tests of one file and count them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Called by run-ert.sh; knows no test.

;;; Code:

(require 'ert)

(declare-function eca-context-module-answer "ext:eca-context-module"
                  (id method params options facts))

(defun run-ert-record (answer id method &rest arguments)
  "Call ANSWER with ID, METHOD and ARGUMENTS; write down what it returns.
The file that the environment variable ECA_CONTEXT_ANSWERS_FILE names gets a
line with METHOD and the body, for the schema to judge."
  (let ((frame (apply answer id method arguments))
        (file (getenv "ECA_CONTEXT_ANSWERS_FILE"))
        (coding-system-for-write 'no-conversion)
        last-coding-system-used)
    (when file
      (save-match-data
        (write-region (format "{\"method\":%S,\"answer\":%s}\n" method
                              (substring frame (+ 4 (string-match "\r\n\r\n" frame))))
                      nil file t 'silent)))
    frame))

(defun run-ert-watch (&rest _)
  "Let `run-ert-record' see the module's answers, once the module is loaded."
  (when (and (fboundp 'eca-context-module-answer)
             (not (advice-member-p #'run-ert-record 'eca-context-module-answer)))
    (advice-add 'eca-context-module-answer :around #'run-ert-record)))

(defun run-ert-file ()
  "Run the tests of the file named on the command line and exit.
Writes \"PASSED FAILED SKIPPED\" into the file that the environment variable
ERT_COUNTS_FILE names.  The exit status is 0 if all went as expected."
  (let ((file (expand-file-name (pop command-line-args-left))))
    (load file nil t t)
    (advice-add 'ert-run-test :before #'run-ert-watch)
    (advice-add 'module-load :after #'run-ert-watch)
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
