;;; run-ert.el --- Run the tests of one file and count them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Called by run-ert.sh; knows no test.

;;; Code:

(require 'ert)

(defun run-ert-file ()
  "Run the tests of the file named on the command line and exit.
Writes \"PASSED FAILED SKIPPED\" into the file that the environment variable
ERT_COUNTS_FILE names.  The exit status is 0 if all went as expected."
  (let ((file (expand-file-name (pop command-line-args-left))))
    (load file nil t t)
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
