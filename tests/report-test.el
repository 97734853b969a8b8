;;; report-test.el --- Tests of what a person is shown  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The report, its keys and buttons, the doctor and the log, with the real module.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'json)
(require 'eca-context)
(require 'eca-context-log)
(require 'eca-context-report)

(defun report-test-wait (done)
  "Wait until the function DONE returns non-nil."
  (let ((deadline (+ (float-time) 20)))
    (while (not (funcall done))
      (when (> (float-time) deadline)
        (error "No report within 20 seconds: %s" (buffer-string)))
      (accept-process-output nil 0.01))))

(defmacro report-test-in (features &rest body)
  "Run BODY in the report about FEATURES at a place in a small file."
  (declare (indent 1) (debug (form body)))
  `(let* ((folder (file-truename (file-name-as-directory
                                  (make-temp-file "eca-context-test" t))))
          (file (expand-file-name "my file.el" folder))
          (coding-system-for-write 'utf-8-unix))
     (unwind-protect
         (progn
           (write-region "(defun ours-f ()\n  1)\n\t(list \"😀\" (ours-f))\n"
                         nil file nil 'silent)
           (with-current-buffer (find-file-noselect file)
             (goto-char (point-min))
             (search-forward "(ours-f" nil nil 1)
             (eca-context-at-point ,features))
           (with-current-buffer "*eca-context*"
             (report-test-wait (lambda () eca-context-report--json))
             ,@body))
       (when (get-file-buffer file)
         (kill-buffer (get-file-buffer file)))
       (when (get-buffer "*eca-context*")
         (kill-buffer "*eca-context*"))
       (delete-directory folder t))))

(defun report-test-says-p (regexp)
  "Return non-nil if the current buffer has REGEXP."
  (save-excursion
    (goto-char (point-min))
    (re-search-forward regexp nil t)))

(ert-deftest report-test-shows-every-section ()
  (report-test-in nil
    (should (derived-mode-p 'special-mode))
    (should (report-test-says-p "line 2, character 19"))
    (should (report-test-says-p "^symbolAtPosition  thing-at-point · .* ms$"))
    (should (report-test-says-p "^  ours-f  code$"))
    (should (report-test-says-p "^documentSymbols  imenu · textual · [0-9.]+ ms$"))
    (should (report-test-says-p "^  ours-f  function"))
    (should (report-test-says-p "^definitions"))
    (should (report-test-says-p "^diagnostics"))
    (should (report-test-says-p "^  not available (no-provider)"))))

(ert-deftest report-test-keys ()
  (pcase-dolist (`(,key . ,command)
                 '(("g" . revert-buffer) ("j" . eca-context-report-show-json)
                   ("w" . eca-context-report-copy-json) ("q" . quit-window)
                   ("\t" . forward-button)))
    (should (eq (lookup-key eca-context-report-mode-map key) command))))

(ert-deftest report-test-buttons-lead-there ()
  (report-test-in '("documentSymbols")
    (should-not (report-test-says-p "^definitions"))
    (goto-char (point-min))
    (forward-button 1)
    (save-window-excursion
      (push-button)
      (should (equal (buffer-name) "my file.el"))
      (should (looking-at "ours-f ()")))))

(ert-deftest report-test-json-is-the-very-answer ()
  (report-test-in '("symbolAtPosition" "diagnostics")
    (should (equal (length eca-context-report--json) 2))
    (let ((kill-ring nil)
          (inhibit-message t))
      (eca-context-report-copy-json)
      (should (equal (current-kill 0 t) (mapconcat #'identity eca-context-report--json "\n"))))
    (dolist (json eca-context-report--json)
      (should (plist-member (json-parse-string json :object-type 'plist) :result)))
    (eca-context-report-show-json)
    (with-current-buffer "*eca-context-json*"
      (should (report-test-says-p "symbolAtPosition"))
      (kill-buffer))))

(ert-deftest report-test-g-asks-again ()
  (report-test-in '("symbolAtPosition")
    (with-current-buffer eca-context-report--source
      (goto-char (point-min))
      (search-forward "def"))
    (setq eca-context-report--json nil)
    (revert-buffer)
    (report-test-wait (lambda () eca-context-report--json))
    (should (report-test-says-p "^  defun  code$"))))

(ert-deftest report-test-an-indirect-buffer ()
  (report-test-in '("symbolAtPosition")
    (let ((indirect (with-current-buffer eca-context-report--source
                      (make-indirect-buffer (current-buffer) "report-test-indirect" t))))
      (unwind-protect
          (progn
            (with-current-buffer indirect
              (goto-char (point-min))
              (search-forward "def")
              (narrow-to-region (point) (point-max))
              (eca-context-at-point '("symbolAtPosition")))
            (report-test-wait (lambda () eca-context-report--json))
            (should (report-test-says-p "my file\\.el, line 0, character 4"))
            (should (report-test-says-p "^  defun  code$"))
            (with-current-buffer indirect (eca-context-doctor))
            (with-current-buffer "*eca-context-doctor*"
              (report-test-wait (lambda () (not (report-test-says-p "…"))))
              (should (report-test-says-p
                       "eca-context-imenu-document-symbols: imenu, textual, 1 found"))))
        (kill-buffer indirect)
        (when (get-buffer "*eca-context-doctor*")
          (kill-buffer "*eca-context-doctor*"))))))

(ert-deftest report-test-without-a-file ()
  (with-temp-buffer
    (should-error (eca-context-at-point) :type 'user-error)))

(ert-deftest report-test-doctor ()
  (unwind-protect
      (progn
        (with-temp-buffer
          (emacs-lisp-mode)
          (setq buffer-file-name (expand-file-name "nowhere.el" temporary-file-directory))
          (insert "(defun ours-f ())")
          (set-buffer-modified-p nil)
          (eca-context-doctor)
          (with-current-buffer "*eca-context-doctor*"
            (report-test-wait (lambda () (not (report-test-says-p "…")))))
          (setq buffer-file-name nil))
        (with-current-buffer "*eca-context-doctor*"
          (should (report-test-says-p (concat "^Emacs +" (regexp-quote emacs-version))))
          (should (report-test-says-p "^module +version [0-9.]+, loaded"))
          (should (report-test-says-p "^eca-emacs +not loaded"))
          (should (report-test-says-p "eca-context-imenu-document-symbols: imenu, textual, 1 found"))
          (should (report-test-says-p
                   "eca-context-flymake-diagnostics: not active here (`flymake-mode' is off)"))))
    (when (get-buffer "*eca-context-doctor*")
      (kill-buffer "*eca-context-doctor*"))))

(ert-deftest report-test-log ()
  (let ((eca-context-log--entries nil)
        (eca-context-log-size nil))
    (unwind-protect
        (progn
          (save-window-excursion (eca-context-log))
          (with-current-buffer "*eca-context-log*"
            (should (report-test-says-p "The log is off")))
          (setq eca-context-log-size 5)
          (eca-context-log-note "1 asks editor/getContext" '(:uri "file:///f"))
          (eca-context-log-note "1 is answered" (encode-coding-string "é" 'utf-8))
          (save-window-excursion (eca-context-log))
          (with-current-buffer "*eca-context-log*"
            (should (report-test-says-p "(:uri \"file:///f\")\\(.\\|\n\\)*\n é?\\|é"))))
      (kill-buffer "*eca-context-log*"))))

(provide 'report-test)
;;; report-test.el ends here
