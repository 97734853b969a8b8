;;; position-test.el --- Tests of positions  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Buffer positions to Positions and back, beyond what eca-context-lisp-test.el holds; without the module.

;;; Code:

(require 'ert)
(require 'eca-context-position)

(defun position-test-check (text target line character &optional setup)
  "Check that TARGET in TEXT begins at LINE and CHARACTER, and the way back.
SETUP is called in the buffer first."
  (with-temp-buffer
    (insert text)
    (when setup (funcall setup))
    (goto-char (point-min))
    (search-forward target)
    (let ((beg (match-beginning 0)))
      (should (equal (eca-context-position-sweep (list beg)) (list (cons line character))))
      (should (= (eca-context-position-to-point line character) beg)))))

(ert-deftest eca-context-position-c01-raw-bytes-are-one-unit ()
  (position-test-check (concat "a" (string (unibyte-char-to-multibyte #xe9)) " bad") "bad" 0 3)
  (position-test-check (concat "a" (string #x110000) " bad") "bad" 0 3)
  (position-test-check (concat "a" (string #x10ffff) " bad") "bad" 0 4))

(ert-deftest eca-context-position-c02-a-tab-is-one-at-any-width ()
  (dolist (width '(1 4 8))
    (position-test-check "\t\tfoo" "foo" 0 2 (lambda () (setq tab-width width)))))

(ert-deftest eca-context-position-c01-display-never-counts ()
  (dolist (setup (list (lambda () (put-text-property 2 5 'invisible t))
                       (lambda () (put-text-property 2 5 'display "a much longer text"))
                       (lambda () (put-text-property 2 5 'field 'there))
                       (lambda () (put-text-property 1 9 'composition '(8)))))
    (position-test-check "one two bad\nx" "bad" 0 8 setup)
    (position-test-check "one two bad\nx" "x" 1 0 setup)))

(ert-deftest eca-context-position-c05-narrowing-does-not-count ()
  (with-temp-buffer
    (insert "a = 1\nb = 2\nc = undefined_name\n")
    (narrow-to-region 13 (point-max))
    (goto-char 15)
    (set-mark 14)
    (should (equal (eca-context-position-range 17 31) [2 4 2 18]))
    (should (= (eca-context-position-to-point 0 2) 3))
    (should (= (eca-context-position-n-lines) 4))
    (should (equal (eca-context-position-find-symbol 1 "b" 1) '(7 . 1)))
    (should (equal (list (point-min) (point) (mark t)) '(13 15 14)))))

(ert-deftest eca-context-position-c04-c07-to-point ()
  (with-temp-buffer
    (insert "😀😀b\ncd")
    (dolist (case '((0 0 1) (0 1 1) (0 2 2) (0 3 2) (0 4 3) (0 5 4) (0 6 4)
                    (1 0 5) (1 2 7) (1 25 7) (2 0 nil) (99 0 nil)))
      (should (equal (list case (eca-context-position-to-point (nth 0 case) (nth 1 case)))
                     (list case (nth 2 case))))))
  (with-temp-buffer
    (should (= (eca-context-position-to-point 0 3) 1))
    (should-not (eca-context-position-to-point 1 0))))

(ert-deftest eca-context-position-c10-line-endings ()
  (with-temp-buffer
    (insert "ab\r\ncd\nef\r\n")
    (should (equal (eca-context-position-sweep '(3 4 5 10 11 12))
                   '((0 . 2) (0 . 2) (1 . 0) (2 . 2) (2 . 2) (3 . 0))))
    (should (= (eca-context-position-to-point 0 25) 3)))
  (position-test-check "\ufeffabc" "abc" 0 0)
  (with-temp-buffer
    (insert "\ufeffab")
    (should (equal (eca-context-position-sweep '(1 2 3 4)) '((0 . 0) (0 . 0) (0 . 1) (0 . 2))))))

;; The reader of files in src/files has the same table.
(ert-deftest eca-context-position-lines-as-the-module-has-them ()
  (let ((file (make-temp-file "eca-context"))
        (cases (with-temp-buffer
                 (insert-file-contents "tests/fixtures/lines.json")
                 (json-parse-buffer :array-type 'list :object-type 'plist))))
    (should cases)
    (unwind-protect
        (dolist (case cases)
          (ert-info ((plist-get case :name))
            (let ((coding-system-for-write 'utf-8-unix))
              (write-region (plist-get case :text) nil file nil 'silent))
            (with-temp-buffer
              (insert-file-contents file)
              (should (equal (position-test-lines) (plist-get case :lines)))
              (should (= (eca-context-position-n-lines) (length (plist-get case :lines))))
              (should (equal (mapcar (lambda (line)
                                       (cdar (eca-context-position-sweep
                                              (list (eca-context-position-to-point line 9999)))))
                                     (number-sequence 0 (1- (eca-context-position-n-lines))))
                             (plist-get case :units))))))
      (delete-file file))))

(defun position-test-lines ()
  "Return the texts of the lines, without CRs."
  (let ((line 0) beg lines)
    (while (setq beg (eca-context-position-to-point line 0))
      (push (delete ?\r (buffer-substring beg (eca-context-position-to-point line 9999))) lines)
      (setq line (1+ line)))
    (nreverse lines)))

(defun position-test-places ()
  "Return the place of each position, counted character by character."
  (let ((line 0) (units 0) places)
    (dolist (pos (number-sequence 1 (point-max)))
      (push (cons line units) places)
      (let ((char (char-after pos)))
        (cond ((eq char ?\n) (setq line (1+ line) units 0))
              ((null char))
              ((eq char ?\r))
              ((and (= pos 1) (= char #xfeff)))
              (t (setq units (+ units (if (<= #x10000 char #x10ffff) 2 1)))))))
    (nreverse places)))

(ert-deftest eca-context-position-as-counted-one-by-one ()
  (random "the same every run")
  (dotimes (_ 20)
    (with-temp-buffer
      (dotimes (_ (random 400))
        (insert (aref (vector ?a ?é ?變 ?😀 ?𝒳 ?\r ?\n #xfeff #x110000 #x3fff80 #xd800)
                      (min (random 14) (random 14) 10))))
      (let ((all (number-sequence 1 (point-max)))
            (places (position-test-places)))
        (should (equal (eca-context-position-sweep all) places))
        (pcase-dolist (`(,line . ,character) places)
          (let ((at (eca-context-position-to-point line character)))
            (should (equal (nth (1- at) places) (cons line character)))
            ;; Behind CRs, but before those that end the line.
            (goto-char at)
            (should (eq (eq (char-after) ?\r) (looking-at-p "\r+$")))
            ;; Within a pair it is the pair's start.
            (let ((next (eca-context-position-to-point line (1+ character))))
              (should (<= (cdr (nth (1- next) places)) (1+ character))))))))))

(ert-deftest eca-context-position-sweep-keeps-the-order-and-nil ()
  (with-temp-buffer
    (insert "a😀b\n\nc")
    (should (equal (eca-context-position-sweep '(6 nil 3 1 3 99))
                   '((2 . 0) nil (0 . 3) (0 . 0) (0 . 3) (2 . 1))))))

(ert-deftest eca-context-position-sweep-is-linear-on-one-line ()
  ;; Counting each from the line's start looks at 10^9 characters here.
  (with-temp-buffer
    (dotimes (_ 100000) (insert "abcdefgh😀 "))
    (let ((start (float-time))
          (places (eca-context-position-sweep (number-sequence 1 1000000 500))))
      (should (equal (car (last places)) '(0 . 1099450)))
      (should (< (- (float-time) start) 5)))))

;; Once 5 to 15 s each, interpreted.
(ert-deftest eca-context-position-wide-lines-are-fast ()
  (dolist (case `((,(make-string 1000000 ?😀) . 2000000)
                  (,(apply #'concat (make-list 500000 "😀a")) . 1500000)
                  (,(apply #'concat (make-list 250000 "\r😀é變")) . 1000000)
                  (,(make-string 1000000 ?\r) . 0)))
    (with-temp-buffer
      (insert (car case) "z")
      (let ((start (float-time)))
        (should (equal (eca-context-position-sweep (list (1- (point-max)))) `((0 . ,(cdr case)))))
        (should (= (eca-context-position-to-point 0 (cdr case)) (1- (point-max))))
        (should (< (- (float-time) start) 3))))))

(ert-deftest eca-context-position-find-symbol-by-the-mode ()
  (with-temp-buffer
    (emacs-lisp-mode)
    (insert "(foo-bar foo foo-ba)\n")
    (should (equal (eca-context-position-find-symbol 0 "foo" 1) '(10 . 1)))
    (should (equal (eca-context-position-find-symbol 0 "Foo" 1) '(nil . 0)))
    (should (equal (eca-context-position-find-symbol 0 "" 1) '(nil . 0)))
    (should-not (eca-context-position-find-symbol 5 "foo" 1))))

(defconst eca-context-position-encodings
  '(("utf-8" (0 . 18) (0 . 13)) ("utf-8" (0 . 15) (0 . 10)) ("utf-32" (0 . 12) (0 . 13))
    ("utf-16" (0 . 13) (0 . 13)) ("utf-32" (2 . 4) (2 . 4)) ("utf-8" (1 . 0) (1 . 0)))
  "An encoding, a place as one counts who uses it, and in UTF-16 units.")

(ert-deftest eca-context-position-as-servers-count ()
  (with-temp-buffer
    (insert "\tx = \"😀é變\"; bad\n\nlast")
    (pcase-dolist (`(,encoding ,theirs ,ours) eca-context-position-encodings)
      (ert-info ((format "%s %s" encoding theirs))
        (should (equal (eca-context-position-encoded
                        encoding (eca-context-position-to-point (car ours) (cdr ours)))
                       theirs))
        (unless (equal encoding "utf-16")
          (should (equal (eca-context-position-decoded encoding (list theirs)) (list ours))))))
    ;; What lies beyond does so still.
    (pcase-dolist (`(,encoding ,theirs ,ours)
                   '(("utf-8" (0 . 99) (0 . 94)) ("utf-32" (1 . 3) (1 . 3))
                     ("utf-8" (3 . 5) (3 . 5)) ("utf-8" (9 . 0) (9 . 0))))
      (should (equal (eca-context-position-decoded encoding (list theirs)) (list ours))))
    (should (equal (eca-context-position-decoded "utf-32" '((2 . 1) (0 . 12) (0 . 6) (7 . 1) (2 . 1)))
                   '((2 . 1) (0 . 13) (0 . 6) (7 . 1) (2 . 1))))))

(provide 'position-test)
;;; position-test.el ends here
