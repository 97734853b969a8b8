;;; workspace-test.el --- Tests of what the user has open  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Folders, files and selection, and all that is left out.

;;; Code:

(require 'cl-lib)
(require 'guest)

(defun workspace-test-item (roots)
  "Return the item for ROOTS, from the buffer that is current."
  (let* ((inhibit-interaction t)
         (outcome (eca-context-workspace (list :roots roots) nil)))
    (should (equal (plist-get outcome :status) "ok"))
    (should (= (length (plist-get outcome :items)) 1))
    (car (plist-get outcome :items))))

(defmacro workspace-test-in (folder &rest body)
  "Evaluate BODY with `open', which opens a file in FOLDER, a symbol, with a text."
  (declare (indent 1) (debug (symbolp body)))
  `(guest-with-folder ,folder
     (cl-flet ((open (name text)
                 (guest-write (concat ,folder name) text)
                 (find-file-noselect (concat ,folder name))))
       (unwind-protect (progn ,@body)
         (delete-other-windows)
         (switch-to-buffer "*scratch*")))))

(ert-deftest workspace-test-files-of-the-workspace-alone ()
  (workspace-test-in folder
    (guest-with-folder elsewhere
      (let* ((root (concat folder "my ws#é/"))
             (one (open "my ws#é/one 1.txt" "1\n"))
             (two (open "my ws#é/two.txt" "2\n")))
        (open "outside.txt" "x\n")
        (open "my ws#é/.env" "secret\n")
        (guest-write (concat elsewhere "linked.txt") "x\n")
        (make-symbolic-link (concat elsewhere "linked.txt") (concat root "linked.txt"))
        (find-file-noselect (concat root "linked.txt"))
        (with-current-buffer two (insert "more"))
        (with-current-buffer (get-buffer-create " hidden") (setq buffer-file-name nil))
        (with-current-buffer (get-buffer-create "*no file*") (insert "x"))
        (switch-to-buffer two)
        (split-window)
        (other-window 1)
        (switch-to-buffer one)
        (switch-to-buffer "*scratch*")
        (let ((item (workspace-test-item (list (directory-file-name root)))))
          (should (equal item
                         (list :roots (vector (vector (directory-file-name root) "my ws#é"))
                               :currentFile (buffer-file-name one)
                               :openFiles (vector (vector (buffer-file-name one) nil nil)
                                                  (vector (buffer-file-name two) t t))))))
        ;; An indirect buffer shows its base's file.
        (let ((indirect (make-indirect-buffer one "workspace-test-indirect" t)))
          (switch-to-buffer two)
          (switch-to-buffer indirect)
          (let ((item (workspace-test-item (list root))))
            (should (equal (plist-get item :currentFile) (buffer-file-name one)))
            (should (equal (aref (plist-get item :openFiles) 0)
                           (vector (buffer-file-name one) nil t))))
          (kill-buffer indirect))
        (kill-buffer "*no file*")
        (let ((eca-context-tell-open-files nil))
          (should-not (plist-member (workspace-test-item (list root)) :openFiles)))
        ;; Behind a link, too.
        (make-symbolic-link root (concat elsewhere "ws"))
        (should (= (length (plist-get (workspace-test-item (list (concat elsewhere "ws")))
                                      :openFiles))
                   2))))))

(ert-deftest workspace-test-roots-of-a-project ()
  (workspace-test-in folder
    (make-directory (concat folder "repo/.git") t)
    (with-current-buffer (open "repo/sub/a.txt" "a\n")
      (let ((item (workspace-test-item nil)))
        (should (equal (plist-get item :roots)
                       (vector (vector (concat folder "repo") "repo"))))))
    (with-current-buffer (open "b.txt" "b\n")
      (let ((item (workspace-test-item nil)))
        (should (equal (plist-get item :roots) []))
        (should (= (length (plist-get item :openFiles)) 2))))))

(ert-deftest workspace-test-selection ()
  (workspace-test-in folder
    (let ((transient-mark-mode t)
          (buffer (open "a.txt" "one\n\t😀 two\nthree\n")))
      (switch-to-buffer buffer)
      (should-not (plist-get (workspace-test-item (list folder)) :selection))
      (goto-char 6)
      (push-mark 8 t t)
      (let ((place (vector (concat folder "a.txt") [1 1 1 4])))
        (should (equal (plist-get (workspace-test-item (list folder)) :selection)
                       (vconcat place ["😀 "])))
        ;; Narrowed, and from the other end.
        (narrow-to-region 5 8)
        (goto-char 8)
        (set-mark 6)
        (should (equal (plist-get (workspace-test-item (list folder)) :selection)
                       (vconcat place ["😀 "])))
        (widen)
        ;; The user talks to the agent in another window.
        (split-window)
        (other-window 1)
        (switch-to-buffer "*scratch*")
        (with-current-buffer buffer
          (goto-char (point-max))
          (should (equal (plist-get (workspace-test-item (list folder)) :selection)
                         (vconcat place ["😀 "]))))
        (let ((eca-context-tell-selection 'place))
          (should (equal (plist-get (workspace-test-item (list folder)) :selection)
                         (vconcat place [nil]))))
        (let ((eca-context-tell-selection nil))
          (should-not (plist-get (workspace-test-item (list folder)) :selection))))
      (should-not (plist-get (workspace-test-item '("/usr/lib")) :selection))
      (let ((transient-mark-mode nil))
        (should-not (plist-get (workspace-test-item (list folder)) :selection)))
      (delete-other-windows)
      (with-current-buffer (switch-to-buffer buffer)
        (goto-char (mark))
        (should-not (plist-get (workspace-test-item (list folder)) :selection)))
      ;; No more than is shown crosses, whatever is selected.
      (with-current-buffer (open "big.txt" (make-string 100000 ?x))
        (switch-to-buffer (current-buffer))
        (push-mark (point-max) t t)
        (goto-char (point-min))
        (let ((selection (plist-get (workspace-test-item (list folder)) :selection)))
          (should (equal (aref selection 1) [0 0 0 100000]))
          (should (= (length (aref selection 2)) 2001)))))))

(provide 'workspace-test)
;;; workspace-test.el ends here
