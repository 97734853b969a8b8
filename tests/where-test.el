;;; where-test.el --- Tests of where a file is  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Compressed, in an archive, in an indirect or a narrowed buffer, under odd names and behind links: from
;; request to answer, in a world that stays as it was.

;;; Code:

(require 'arc-mode)
(require 'cl-lib)
(require 'guest)
(require 'tar-mode)

(defun where-test-ask (uri line character roots &optional quick)
  "Return what is answered of LINE and CHARACTER of URI within ROOTS.
Unless QUICK, the user's world is compared, too, which takes its time.
That is a list: the symbol, its preview, names of the document's symbols, its
language and number of lines, and the first reason why something is missing."
  (let* ((params (list :uri uri :position (list :line line :character character)
                       :include ["symbolAtPosition" "documentSymbols"]))
         (result (if quick
                     (plist-get (guest-ask "editor/getContext" params roots) :result)
                   (guest-check "editor/getContext" params roots))))
    (should (equal (plist-get result :uri) uri))
    (list (plist-get (plist-get result :symbolAtPosition) :text)
          (plist-get (plist-get result :symbolAtPosition) :preview)
          (mapcar (lambda (symbol) (plist-get symbol :name)) (plist-get result :documentSymbols))
          (plist-get (plist-get result :document) :languageId)
          (plist-get (plist-get result :document) :lineCount)
          (plist-get (car (plist-get result :unavailable)) :code))))

(defconst where-test-text "(defun 𝒳f ())\n(list \"é\" (𝒳f))\n"
  "What is in the files.")

(defconst where-test-answer
  '("𝒳f" "(list \"é\" (𝒳f))" ("𝒳f") "emacs-lisp" 3 nil)
  "What is answered of its second line.")

(ert-deftest where-test-compressed ()
  (guest-with-folder folder
    (let* ((file (concat folder "a.el.gz"))
           (inhibit-message t)
           (uri (progn (with-temp-file file (insert where-test-text)) (guest-uri file))))
      (dolist (is-visited '(nil t))
        (when is-visited (find-file-noselect file))
        (should (equal (where-test-ask uri 1 12 (list folder)) where-test-answer))))))

(ert-deftest where-test-odd-names-and-links ()
  (guest-with-folder folder
    (guest-with-folder links
      (dolist (name '("my dir/caf é#1 100%25.el" "a;b?c=d&e.el" "~tilde/x.el" "日本/語.el" "[x]{y}.el"
                      "new\nline.el" "'q\"uote.el"))
        (let* ((file (concat folder name))
               (uri (guest-write file where-test-text)))
          (dolist (is-visited '(nil t))
            (when is-visited (find-file-noselect file))
            (should (equal (cons name (where-test-ask uri 1 12 (list folder) 'quick))
                           (cons name where-test-answer))))
          (make-symbolic-link folder (concat links "ws") t)
          (dolist (root (list folder (concat links "ws")))
            (should (equal (where-test-ask (guest-uri (concat links "ws/" name)) 1 12 (list root)
                                           'quick)
                           where-test-answer))))))))

(ert-deftest where-test-narrowed-and-indirect ()
  (guest-with-folder folder
    (let* ((file (concat folder "a.el"))
           (uri (guest-write file where-test-text))
           (base (find-file-noselect file))
           (indirect (with-current-buffer base
                       (make-indirect-buffer base "where-test-indirect" t))))
      (unwind-protect
          (progn
            (with-current-buffer base (narrow-to-region 3 5))
            (with-current-buffer indirect (goto-char 4) (narrow-to-region 4 9))
            (should (equal (where-test-ask uri 1 12 (list folder)) where-test-answer))
            (should (equal (with-current-buffer base (list (point-min) (point-max))) '(3 5)))
            ;; The user works in the indirect buffer: its file is the current one.
            (switch-to-buffer indirect)
            (should (equal (plist-get (guest-check "editor/getContext" '(:include []) (list folder))
                                      :uri)
                           uri))
            ;; And so is its cursor the user's.
            (goto-char 6)
            (should (equal (eca-context-document-cursor base) 6)))
        (switch-to-buffer "*scratch*")
        (kill-buffer indirect)))))

;; C05: what is not on disk is shown whole to whoever reads lines of it.
(ert-deftest where-test-narrowed-and-unsaved ()
  (guest-with-folder folder
    (let* ((files (list (concat folder "a.el") (concat folder "b.el")))
           (uris (mapcar (lambda (file) (guest-write file where-test-text)) files))
           (eca-context-definitions-functions
            (list (lambda (&rest _)
                    (list :provider "x" :kind "semantic" :status "ok"
                          :items (mapcar (lambda (file) (vector file 0 7 0 9 "𝒳f")) files))))))
      (dolist (file files)
        (with-current-buffer (find-file-noselect file)
          (goto-char 8)
          (insert "new-")
          (goto-char (point-max))
          (insert "\n")
          (narrow-to-region (1- (point)) (point))))
      (let ((result (guest-check "editor/getContext"
                                 (list :uri (car uris) :position '(:line 1 :character 12)
                                       :include ["symbolAtPosition" "definitions"])
                                 (list folder))))
        (should (equal (plist-get (plist-get result :symbolAtPosition) :preview)
                       "(list \"é\" (𝒳f))"))
        (should (equal (plist-get (plist-get result :document) :lineCount) 4))
        (should (equal (mapcar (lambda (place) (plist-get place :preview))
                               (plist-get result :definitions))
                       (make-list 2 "(defun new-𝒳f ())"))))
      (dolist (file files)
        (with-current-buffer (get-file-buffer file)
          (should (equal (buffer-string) "\n"))
          (set-buffer-modified-p nil))))))

(ert-deftest where-test-archives ()
  (guest-with-folder folder
    (guest-write (concat folder "a.el") where-test-text)
    (let ((default-directory folder)
          (inhibit-message t))
      (should (zerop (call-process "tar" nil nil nil "-cf" "x.tar" "a.el")))
      (should (zerop (call-process "tar" nil nil nil "-czf" "y.tar.gz" "a.el")))
      (should (zerop (call-process "python3" nil nil nil "-m" "zipfile" "-c" "z.zip" "a.el")))
      (dolist (name '("x.tar" "y.tar.gz" "z.zip"))
        (let ((uri (guest-uri (concat folder name))))
          ;; The listing is not the file, whether the user looks at it or not.
          (dolist (is-visited '(nil t))
            (when is-visited
              (find-file-noselect (concat folder name)))
            (let ((result (guest-check "editor/getContext"
                                       (list :uri uri :include ["documentSymbols"]) (list folder))))
              (should (equal (list name (plist-get (plist-get result :document) :languageId)
                                   (plist-get (car (plist-get result :unavailable)) :code))
                             (list name "plaintext" "unsupported-by-provider")))))
          ;; A member that the user has open is a document.
          (let* ((listing (get-file-buffer (concat folder name)))
                 (member (save-window-excursion
                           (with-current-buffer listing
                             (goto-char (point-min))
                             (search-forward "a.el")
                             (if (derived-mode-p 'tar-mode) (tar-extract) (archive-extract))
                             (current-buffer)))))
              (should-not (eq member listing))
            (unwind-protect
                (should (equal (cons name (where-test-ask (guest-uri (buffer-file-name member)) 1 12
                                                          (list folder)))
                               (cons name where-test-answer)))
              (with-current-buffer member (set-buffer-modified-p nil))
              (kill-buffer member)
              (kill-buffer listing))))))))

(provide 'where-test)
;;; where-test.el ends here
