;;; cases-test.el --- Faults from the field, from file to answer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Each case by its number, through the whole of eca-context: a file or a buffer, a request, the answer
;; as a server reads it.

;;; Code:

(require 'cl-lib)
(require 'flymake)
(require 'guest)
(require 'imenu)
(require 'xref)

(defun cases-test-result (params &optional roots)
  "Return the result of `editor/getContext' for PARAMS within ROOTS."
  (plist-get (guest-ask "editor/getContext" params roots) :result))

(defun cases-test-symbol (uri line character &optional roots)
  "Return the text and place of the symbol at LINE and CHARACTER of URI, ROOTS."
  (let* ((symbol (plist-get (cases-test-result
                             (list :uri uri :position (list :line line :character character)
                                   :include ["symbolAtPosition"])
                             roots)
                            :symbolAtPosition))
         (range (plist-get symbol :range)))
    (and symbol
         (list (plist-get symbol :text)
               (plist-get (plist-get range :start) :line)
               (plist-get (plist-get range :start) :character)
               (plist-get (plist-get range :end) :character)))))

(defun cases-test-code (params &optional roots)
  "Return code and reason of the first unavailable feature of PARAMS within ROOTS."
  (let ((entry (car (plist-get (cases-test-result params roots) :unavailable))))
    (list (plist-get entry :code) (plist-get entry :reason))))

(defmacro cases-test-both (file text &rest body)
  "Evaluate BODY with `uri' of FILE with TEXT, unvisited, then visited.
TEXT unibyte is written as it is."
  (declare (indent 2) (debug (form form body)))
  `(guest-with-folder folder
     (let ((uri (guest-write (expand-file-name ,file folder) ,text)))
       (dolist (is-visited '(nil t))
         (when is-visited
           (find-file-noselect (expand-file-name ,file folder)))
         ,@body))))

;;;; Positions

(ert-deftest cases-c01-utf-16-from-buffer-and-file ()
  (pcase-dolist (`(,line ,character)
                 '(("\tx = \"😀\"; bad()" 11) ("cafe\u0301 = bad" 8)
                   ("s = \"👩\u200d👩\u200d👧\"; bad" 16) ("s = \"🇵🇱\"; bad" 12) ("變數 = bad" 5)
                   ("𠮷 = bad" 5) ("let 𝒳 = bad" 9) ("a\u200bb bad" 4)))
    (cases-test-both "a.txt" (concat "first\n" line "\n")
      (should (equal (cases-test-symbol uri 1 (1+ character))
                     (list "bad" 1 character (+ 3 character)))))))

(ert-deftest cases-c02-a-tab-is-one ()
  (cases-test-both "a.txt" "\t\tfoo\n"
    (let ((tab-width 4))
      (should (equal (cases-test-symbol uri 0 3) '("foo" 0 2 5))))))

(ert-deftest cases-c04-inside-a-pair ()
  (cases-test-both "a.txt" "\tx = \"😀\"; bad()"
    (should (equal (plist-get (cases-test-result
                               (list :uri uri :position '(:line 0 :character 7)))
                              :position)
                   '(:line 0 :character 6)))))

(ert-deftest cases-c07-past-the-end ()
  (cases-test-both "a.txt" "ab\ncd"
    (should (equal (plist-get (cases-test-result
                               (list :uri uri :position '(:line 1 :character 25)))
                              :position)
                   '(:line 1 :character 2)))
    (dolist (line '(2 99))
      (should (equal (cases-test-code (list :uri uri :position (list :line line :character 0)))
                     (list "out-of-range"
                           (format "there is no line %d, the document has 2 lines (0 to 1)"
                                   line))))))
  (cases-test-both "a.txt" "a\nb\n"
    (should (equal (plist-get (cases-test-result
                               (list :uri uri :position '(:line 2 :character 0)))
                              :position)
                   '(:line 2 :character 0)))))

(ert-deftest cases-c10-line-endings-and-bom ()
  (dolist (case '(("ab\r\ncd\r\n" 1 0 "cd" "cd" 3) ("ab\r\ncd\nef\r\n" 0 0 "ab" "ab" 4)
                  ("\xef\xbb\xbf" 0 0 nil nil 1)
                  ("\xef\xbb\xbf\x61\x62\x63\r\n" 0 0 "abc" "abc" 2)
                  ("ab\r\ncd\nef\r\n" 2 1 "ef" "ef" 4)))
    (pcase-let ((`(,text ,line ,character ,word ,preview ,n-lines) case))
      (cases-test-both "a.txt" (encode-coding-string text 'raw-text-unix)
        (let ((result (cases-test-result
                       (list :uri uri :position (list :line line :character character)))))
          (should (equal (list case (plist-get (plist-get result :symbolAtPosition) :text)
                               (plist-get (plist-get result :symbolAtPosition) :preview)
                               (plist-get (plist-get result :document) :lineCount))
                         (list case word preview n-lines)))
          (when word
            (should (equal (plist-get (plist-get (plist-get result :symbolAtPosition) :range)
                                      :end)
                           (list :line line :character (length word))))))))))

;;;; Diagnostics

(defun cases-test-diagnostics (text problems params)
  "Return what is answered to PARAMS about a buffer with TEXT and PROBLEMS.
Each problem is BEG END TYPE MESSAGE for `flymake-make-diagnostic'."
  (guest-with-folder folder
    (let ((uri (guest-write (expand-file-name "a.txt" folder) text)))
      (with-current-buffer (find-file-noselect (expand-file-name "a.txt" folder))
        (setq-local flymake-diagnostic-functions
                    (list (lambda (report &rest _)
                            (funcall report
                                     (mapcar (lambda (problem)
                                               (apply #'flymake-make-diagnostic (current-buffer)
                                                      problem))
                                             problems)))))
        (flymake-mode 1)
        (flymake-start)
        (mapcar (lambda (found)
                  (let ((range (plist-get found :range)))
                    (list (plist-get found :message)
                          (append (cl-remove-if #'keywordp (plist-get range :start))
                                  (cl-remove-if #'keywordp (plist-get range :end)))
                          (plist-get found :distance))))
                (plist-get (plist-get (guest-ask "editor/getDiagnostics"
                                                 (append (list :uri uri) params))
                                      :result)
                           :diagnostics))))))

(defun cases-test-ranges (params &optional roots)
  "Return the ranges of the diagnostics of PARAMS within ROOTS, lists of numbers."
  (mapcar (lambda (found)
            (let ((range (plist-get found :range)))
              (append (cl-remove-if #'keywordp (plist-get range :start))
                      (cl-remove-if #'keywordp (plist-get range :end)))))
          (plist-get (plist-get (guest-ask "editor/getDiagnostics" params roots) :result)
                     :diagnostics)))

(ert-deftest cases-c07-a-diagnostic-past-the-end ()
  (guest-with-folder folder
    (let ((uri (guest-write (concat folder "a.txt") "ab\ncd"))
          (eca-context-diagnostics-functions
           (list (lambda (&rest _)
                   (list :provider "odd" :kind "semantic" :status "ok" :fresh t
                         :items (list (vector nil "error" "odd" nil [1 24 1 25] "past")
                                      (vector nil "error" "odd" nil [1 1 9 25] "over")
                                      (vector nil "error" "odd" nil [9 4 9 5] "below")))))))
      (find-file-noselect (concat folder "a.txt"))
      (dolist (params (list nil (list :uri uri)))
        (should (equal (cases-test-ranges params (list folder))
                       '((1 1 1 2) (1 2 1 2) (1 2 1 2))))))))

(ert-deftest cases-c01-unsaved-text-in-the-workspace ()
  (dolist (saved '("" "x\n" "a\n\n\n"))
    (guest-with-folder folder
      (let ((uri (guest-write (concat folder "a.txt") saved)))
        (with-current-buffer (find-file-noselect (concat folder "a.txt"))
          (setq-local flymake-diagnostic-functions
                      (list (lambda (report &rest _)
                              (funcall report (list (flymake-make-diagnostic
                                                     (current-buffer) 13 16 :error "E"))))))
          (flymake-mode 1)
          (erase-buffer)
          (insert "x\n\tsecond 😀 bad\n")
          (flymake-start)
          (dolist (params (list (list :uri uri) nil))
            (should (equal (cases-test-ranges params (list folder)) '((1 11 1 14))))))))))

(ert-deftest cases-c08-a-diagnostic-without-extent ()
  (should (equal (cases-test-diagnostics "int f() {\n  return 1\n}\n" '((21 21 :error "missing ;"))
                                         nil)
                 '(("missing ;" (1 10 1 10) nil)))))

(ert-deftest cases-c09-closed-ranges ()
  (let ((text "f {\n\n") (problem '((6 6 :error "end"))))
    (dolist (params '((:range (:start (:line 2 :character 0) :end (:line 2 :character 0)))
                      (:position (:line 2 :character 0))))
      (should (equal (cases-test-diagnostics text problem params) '(("end" (2 0 2 0) 0))))))
  (should (equal (cases-test-diagnostics
                  "a\nbcdefg\n" '((6 6 :error "here"))
                  '(:range (:start (:line 1 :character 0) :end (:line 1 :character 3))))
                 '(("here" (1 3 1 3) 0)))))

(ert-deftest cases-c11-c41-c43-foreign-text-loses-nothing ()
  (dolist (message (list (concat "bad " (string (unibyte-char-to-multibyte #xe9)) " byte")
                         "bad \xe9 byte" (concat "bad " (string #x110000) " byte")
                         (concat "bad " (string #xd83d) " byte")))
    (should (equal (cases-test-diagnostics "abc\n" (list (list 1 4 :error message)) nil)
                   '(("bad \ufffd byte" (0 0 0 3) nil)))))
  ;; A name above U+10FFFF, a raw byte in the line.
  (guest-with-folder folder
    (let ((uri (guest-write (expand-file-name "a.txt" folder) "x\n")))
      (with-current-buffer (find-file-noselect (expand-file-name "a.txt" folder))
        (erase-buffer)
        (insert (string #x110000) "name \xe9 more\nlast\n")
        (setq-local imenu-create-index-function
                    (lambda () (list (cons (concat "n" (string #x110000)) 1)
                                     (cons (string ?m (unibyte-char-to-multibyte #xff)) 3))))
        (let ((result (cases-test-result (list :uri uri :position '(:line 1 :character 1)))))
          (should (equal (plist-get (plist-get result :symbolAtPosition) :text) "last"))
          (should (equal (mapcar (lambda (symbol) (plist-get symbol :name))
                                 (plist-get result :documentSymbols))
                         '("n\ufffd" "m\ufffd"))))))))

;;;; Symbols

(defun cases-test-symbols (symbols)
  "Return SYMBOLS of an answer as lists (NAME PLACE CHILDREN...).
PLACE is the line and the character of its selection range, or nil."
  (mapcar (lambda (symbol)
            (let ((start (plist-get (plist-get symbol :selectionRange) :start)))
              (should-not (plist-member symbol :range))
              (append (list (plist-get symbol :name)
                            (and start (list (plist-get start :line) (plist-get start :character))))
                      (cases-test-symbols (plist-get symbol :children)))))
          symbols))

(ert-deftest cases-c14-c15-c17-indexes-of-any-shape ()
  (guest-with-folder folder
    (let ((uri (guest-write (concat folder "a.txt") (make-string 200 ?\n))))
      (with-current-buffer (find-file-noselect (concat folder "a.txt"))
        (cl-letf (((symbol-function 'my-goto) (lambda (&rest _) (error "It was called"))))
          (pcase-dolist
              (`(,index . ,symbols)
               '(((("a" ("b" ("C" ("m" . 40)))))
                  ("a" nil ("b" nil ("C" nil ("m" (39 0))))))
                 ((("*Rescan*" . -99) ("*db*" . 7)) ("*db*" (6 0)))
                 ((("Chapter 1" 120 my-goto "x") ("Fn" ("foo" [obj] my-goto)))
                  ("Chapter 1" (119 0)) ("Fn" nil ("foo" nil)))
                 ((("*Rescan*" . -99) nil)) ((("Class"))) (nil)
                 ((("" . 20)) ("(anonymous)" (19 0)))))
            (setq-local imenu-create-index-function (lambda () index))
            (let ((result (cases-test-result (list :uri uri :include ["documentSymbols"]))))
              (should (plist-member result :documentSymbols))
              (should-not (plist-get result :unavailable))
              (should (equal (cons index (cases-test-symbols (plist-get result :documentSymbols)))
                             (cons index symbols)))))))
      ;; A mode without any index.
      (with-current-buffer (get-file-buffer (concat folder "a.txt"))
        (fundamental-mode)
        (should-error (let ((imenu-auto-rescan t)) (imenu--make-index-alist)))
        (let ((answer (guest-ask "editor/getContext" (list :uri uri :include ["documentSymbols"]))))
          (should-not (plist-get answer :error))
          (should-not (plist-member (plist-get answer :result) :documentSymbols))
          (should (equal (mapcar (lambda (entry) (plist-get entry :code))
                                 (plist-get (plist-get answer :result) :unavailable))
                         '("unsupported-by-provider"))))))))

(ert-deftest cases-c20-an-index-that-fails-or-takes-long ()
  (guest-with-folder folder
    (let* ((uri (guest-write (concat folder "a.txt") "word\n"))
           (ask (lambda (seconds index)
                  (with-current-buffer (get-file-buffer (concat folder "a.txt"))
                    (setq-local imenu-create-index-function index))
                  (let* ((frames nil)
                         (start (float-time))
                         (note (lambda (frame) (push frame frames))))
                    (eca-context-answer 7 "editor/getContext"
                                        (list :uri uri :position '(:line 0 :character 1)
                                              :include ["documentSymbols" "symbolAtPosition"])
                                        (list :deadline (+ start seconds)) note)
                    (while (and (null frames) (< (- (float-time) start) 10))
                      (accept-process-output nil 0.005))
                    (let ((took (- (float-time) start)))
                      ;; And no second one.
                      (dotimes (_ 30) (accept-process-output nil 0.01))
                      (should (= (length frames) 1))
                      (let ((result (plist-get (guest-read (car frames)) :result)))
                        (should (equal (plist-get (plist-get result :symbolAtPosition) :text) "word"))
                        (list took (plist-member result :documentSymbols)
                              (mapcar (lambda (entry)
                                        (should (equal (plist-get entry :capability)
                                                       "documentSymbols"))
                                        (list (plist-get entry :code) (plist-get entry :reason)))
                                      (plist-get result :unavailable)))))))))
      (find-file-noselect (concat folder "a.txt"))
      (pcase-let ((`(,took ,symbols ,said) (funcall ask 5 (lambda () (error "Broken %d" 7)))))
        (should (< took 2))
        (should-not symbols)
        (should (equal (caar said) "error"))
        (should (string-match-p "Broken 7" (cadar said))))
      (dolist (index (list (lambda () (sleep-for 30))
                           (lambda () (while t (accept-process-output nil 30)))))
        (pcase-let ((`(,took ,symbols ,said) (funcall ask 1 index)))
          (should (< took 1.5))
          (should-not symbols)
          (should (equal (mapcar #'car said) '("timeout")))))
      ;; Nothing can stop one that never looks up: one answer, when it is over.
      (pcase-let ((`(,took ,symbols ,said)
                   (funcall ask 1 (lambda ()
                                    (let ((start (float-time)))
                                      (while (< (- (float-time) start) 2)))
                                    '(("late" . 1))))))
        (should (< 1.9 took 3))
        (should (or symbols (equal (mapcar #'car said) '("timeout"))))))))

;;;; Files

(ert-deftest cases-c26-one-file-however-it-is-spelled ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "my dir/caf é#1 100%25.el" folder))
           (_ (guest-write file "(defun c26-f ())\n(c26-f)\n"))
           (uri (concat "file://" folder "my%20dir/caf%20%C3%A9%231%20100%2525.el"))
           (other (concat "file://localhost" folder "my%20dir/caf%20%c3%a9%231%20100%2525%2eel")))
      (dolist (is-visited '(nil t))
        (when is-visited (find-file-noselect file))
        (dolist (spelled (list uri other))
          (let ((result (cases-test-result (list :uri spelled :position '(:line 1 :character 2)))))
            (should (equal (plist-get result :uri) spelled))
            (should (equal (plist-get (plist-get result :symbolAtPosition) :text) "c26-f"))))))))

(define-derived-mode cases-test-mode prog-mode "Cases"
  "A mode whose symbols are defined where they stand in parentheses."
  (setq-local xref-backend-functions '(cases-test-backend)))
(defvar cases-test-places nil "What the backend finds: conses of a file and a line.")
(defun cases-test-backend () "Return the backend." 'cases-test)
(cl-defmethod xref-backend-identifier-at-point ((_ (eql cases-test)))
  (thing-at-point 'symbol))
(cl-defmethod xref-backend-definitions ((_ (eql cases-test)) _identifier)
  (mapcar (lambda (place) (xref-make "x" (xref-make-file-location (car place) (cdr place) 0)))
          cases-test-places))

(defun cases-test-paths ()
  "Return conses of a path and its URI, those that the module has in its tests."
  (mapcar (lambda (case)
            (cons (decode-coding-string
                   (if (plist-member case :path)
                       (encode-coding-string (plist-get case :path) 'utf-8-unix)
                     (apply #'unibyte-string (plist-get case :bytes)))
                   'utf-8-unix)
                  (plist-get case :uri)))
          (with-temp-buffer
            (insert-file-contents "tests/fixtures/paths.json")
            (json-parse-buffer :array-type 'list :object-type 'plist))))

(ert-deftest cases-c26-paths-of-uris ()
  (should (cases-test-paths))
  (pcase-dolist (`(,path . ,uri) (cases-test-paths))
    (should (equal (eca-context-uri-to-path uri) path))
    (should (equal (eca-context-uri-to-path (guest-uri path)) path)))
  ;; Not encoded as it should be, and other schemes.
  (should (equal (eca-context-uri-to-path "file:///é %C3%A9") "/é é"))
  (should (equal (eca-context-uri-to-path "file:///a?b") "/a?b"))
  (should-not (eca-context-uri-to-path "jar:file:///a.jar!/b"))
  (dolist (uri '("file:///c%3A/X" "file:///C:/X" "file:///c:/X"))
    (should (equal (eca-context-uri-to-path uri) "c:/X"))))

(ert-deftest cases-c26-files-of-any-name ()
  (guest-with-folder folder
    (let ((asking (guest-write (concat folder "a.txt") "here\n")))
      (with-current-buffer (find-file-noselect (concat folder "a.txt"))
        (cases-test-mode))
      (dolist (path (mapcar #'car (cases-test-paths)))
        ;; Not as Python, whose mode loads TRAMP.
        (let ((file (concat folder (string-replace ".py" ".txt" (string-replace "/" "-" path)))))
          (ert-info ((format "%S" file))
            (guest-write file "here\n")
            (let* ((cases-test-places (list (cons file 1)))
                   (place (car (plist-get (cases-test-result
                                           (list :uri asking :position '(:line 0 :character 0)))
                                          :definitions)))
                   (uri (plist-get place :uri)))
              (should (equal (plist-get place :preview) "here"))
              (should (equal (eca-context-uri-to-path uri) file))
              (should (equal (plist-get (cases-test-result (list :uri uri)) :uri) uri)))))))))

(ert-deftest cases-c27-a-workspace-behind-a-link ()
  (guest-with-folder folder
    (guest-with-folder links
      (let* ((file (expand-file-name "a.txt" folder))
             (link (concat links "ws"))
             (real (guest-write file "here (there)\n"))
             (linked (guest-uri (concat link "/a.txt"))))
        (make-symbolic-link folder link)
        (dolist (is-visited '(nil file link))
          (pcase is-visited
            ('file (with-current-buffer (find-file-noselect file) (cases-test-mode)))
            ('link (kill-buffer (get-file-buffer file))
                   (with-current-buffer (find-file-noselect (concat link "/a.txt"))
                     (cases-test-mode))))
          (dolist (roots (list (list folder) (list link) (list (concat link "/"))))
            (dolist (uri (list real linked))
              ;; Whatever spelling the backend has, the caller's own comes back, and each place once.
              (let* ((cases-test-places (list (cons file 1) (cons (concat link "/a.txt") 1)))
                     (result (cases-test-result
                              (list :uri uri :position '(:line 0 :character 1)) roots)))
                (should (equal (plist-get (plist-get result :symbolAtPosition) :text) "here"))
                (when is-visited
                  (should (equal (mapcar (lambda (place) (plist-get place :uri))
                                         (plist-get result :definitions))
                                 (list uri))))))))))))

(ert-deftest cases-c36-what-is-not-touched ()
  (guest-with-folder folder
    (let ((file (expand-file-name "a.el" folder))
          (large-file-warning-threshold 100))
      (let ((uri (guest-write file (make-string 200 ?x))))
        (should (equal (car (cases-test-code (list :uri uri) (list folder))) "too-large")))
      (let ((uri (guest-write file "(f)\n;; Local Variables:\n;; eval: (setq cases-test-evil t)\n;; End:\n"))
            (large-file-warning-threshold nil))
        (defvar cases-test-evil)
        (setq cases-test-evil nil)
        (write-region "((nil . ((eval . (setq cases-test-evil t)))))" nil
                      (expand-file-name ".dir-locals.el" folder) nil 'silent)
        (let ((enable-local-variables :all)
              (enable-local-eval t))
          (should (equal (cases-test-symbol uri 0 1) '("f" 0 1 2))))
        (should-not cases-test-evil)
        (should-not (get-file-buffer file)))
      (should (equal (car (cases-test-code (list :uri (guest-uri folder)))) "not-a-file"))
      (should (equal (car (cases-test-code (list :uri (guest-uri (concat folder "none")))))
                     "not-found"))
      (should-not (file-exists-p (concat folder "none"))))))

(ert-deftest cases-c36-unsaved-text-stays ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.txt" folder))
           (uri (guest-write file "one\n"))
           (buffer (find-file-noselect file)))
      (with-current-buffer buffer
        (goto-char (point-max))
        (insert "unsaved\n"))
      (sleep-for 0.05)
      (guest-write file "other\n")
      (set-file-times file (time-add nil 5))
      (let ((result (cases-test-result (list :uri uri :position '(:line 1 :character 2)))))
        (should (equal (plist-get (plist-get result :symbolAtPosition) :text) "unsaved"))
        (should (equal (plist-get (plist-get result :symbolAtPosition) :preview) "unsaved"))
        (should (eq (plist-get (plist-get result :document) :modified) t))
        (should (eq (plist-get (plist-get result :document) :diskNewer) t)))
      (should (equal (with-current-buffer buffer (buffer-string)) "one\nunsaved\n")))))

(ert-deftest cases-excluded-however-it-is-called ()
  (guest-with-folder folder
    (dolist (name '(".env" ".env.local" ".envrc" ".env~" "#.env#" ".env.~3~" "key.pem~" "SERVER.KEY"
                    ".netrc" ".authinfo" "id_ed25519"))
      (let ((uri (guest-write (expand-file-name name folder) "secret=1\n")))
        (should (equal (cons name (cases-test-code
                                   (list :uri uri :position '(:line 0) :symbol "nope")))
                       (list name "excluded" "the user excludes this file")))))
    (dolist (name '("env" "environment.el" "key.pem.md" "a~" "#a#"))
      (let ((uri (guest-write (expand-file-name name folder) "word\n")))
        (should (equal (cons name (cases-test-symbol uri 0 1)) (list name "word" 0 0 4)))))))

(ert-deftest cases-a-name-may-be-odd ()
  (guest-with-folder folder
    (dolist (method '("editor/getContext" "editor/getDiagnostics"))
      (pcase-dolist (`(,uri ,code) `((,(concat "file://" folder "a%00b") "not-found")
                                     (,(concat "file://" folder "a%0Ab") "not-found")
                                     ("file:///ssh:nohost.invalid:/x" "remote")
                                     ("file:///sudo::/etc/passwd" "remote")
                                     ("file:" "unsupported-scheme") ("" "unsupported-scheme")))
        (let ((answer (guest-ask method (list :uri uri) (list folder))))
          (should-not (plist-get answer :error))
          (should (equal (list uri (plist-get (car (plist-get (plist-get answer :result)
                                                              :unavailable))
                                              :code))
                         (list uri code))))))
    (should-not (featurep 'tramp-sh))))

(ert-deftest cases-a-root-may-be-out-of-reach ()
  (guest-with-folder folder
    (let ((uri (guest-write (concat folder "a.txt") "word\n"))
          (inside `("/ssh:nohost.invalid:/p" ,folder nil)))
      (should (equal (cases-test-symbol uri 0 0 inside) '("word" 0 0 4)))
      (dolist (roots `(("/ssh:nohost.invalid:/p") (nil) ("a\0b") (,(concat folder "none")) (5)))
        (should (equal (cons roots (car (cases-test-code (list :uri uri) roots)))
                       (cons roots "outside-workspace")))
        (should (plist-get (guest-ask "editor/getDiagnostics" nil roots) :result)))
      (should-not (featurep 'tramp-sh)))))

(ert-deftest cases-an-option-that-is-no-regexp ()
  (guest-with-folder folder
    (let ((uri (guest-write (concat folder "a.txt") "word\n"))
          (eca-context-excluded-files '("[")))
      (find-file-noselect (concat folder "a.txt"))
      (dolist (ask `(("editor/getContext" ,(list :uri uri)) ("editor/getContext" nil)
                     ("editor/getDiagnostics" ,(list :uri uri)) ("editor/getDiagnostics" nil)))
        (should (equal (plist-get (car (plist-get (plist-get (guest-ask (car ask) (cadr ask)
                                                                        (list folder))
                                                             :result)
                                                  :unavailable))
                                  :reason)
                       "Invalid regexp: \"Unmatched [ or [^\""))))))

(ert-deftest cases-an-id-is-a-string-or-a-number ()
  (dolist (id '(t (:a 1) [1] :json-false))
    (let (frames)
      (eca-context-answer id "editor/getContext" nil (list :deadline (+ (float-time) 5))
                          (lambda (frame) (push frame frames)))
      (with-timeout (5) (while (null frames) (accept-process-output nil 0.01)))
      (should (equal (mapcar (lambda (frame) (substring frame (seq-position frame ?{))) frames)
                     '("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\
\"message\":\"eca-context: an id is a string or a number\"}}"))))))

;;;; Definitions

(ert-deftest cases-items-of-any-shape ()
  (guest-with-folder folder
    (let ((uri (guest-write (concat folder "a.txt") "word\n"))
          (buffers (length (buffer-list)))
          (good (vector (concat folder "a.txt") 0 0 0 4 nil nil nil)))
      (dolist (bad `((1 2) nil 5 [] [nil] ["a\0b" 1] [5 5 5] ["/x" -1 -1] "text" ,(current-buffer)
                     [,(concat folder "a.txt") 99999999999999999999 0] (("/x") ("/y"))))
        (dolist (items (list (list bad good) (vector good bad)))
          (let ((eca-context-definitions-functions
                 (list (lambda (&rest _)
                         (list :provider "odd" :kind "textual" :status "ok" :items items)))))
            (should (equal (cons bad (mapcar (lambda (place) (plist-get place :preview))
                                             (plist-get (cases-test-result
                                                         (list :uri uri
                                                               :position '(:line 0 :character 0)))
                                                        :definitions)))
                           (list bad "word")))))
        (let ((eca-context-diagnostics-functions
               (list (lambda (&rest _)
                       (list :provider "odd" :kind "unknown" :status "ok" :fresh t
                             :items (list bad (vector nil "error" "odd" nil [0 0 0 4] "Odd"))))))
              (buffer (find-file-noselect (concat folder "a.txt"))))
          (dolist (params (list nil (list :uri uri)
                                (list :uri uri :position '(:line 0 :character 0) :limit 1)))
            (should (equal (cons bad (plist-get (guest-ask "editor/getDiagnostics" params
                                                           (list folder))
                                                :error))
                           (list bad))))
          (kill-buffer buffer)))
      (should (= (length (buffer-list)) buffers)))))

(ert-deftest cases-c24-places-that-are-gone ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.txt" folder))
           (two (expand-file-name "two.txt" folder))
           (uri (guest-write file "here\n"))
           (buffers (length (buffer-list))))
      (guest-write two "one\nhere it is\n")
      (with-current-buffer (find-file-noselect file) (cases-test-mode))
      (let* ((cases-test-places (list (cons (concat folder "gone.txt") 1) (cons two 99)
                                      (cons two 2)))
             (result (cases-test-result (list :uri uri :position '(:line 0 :character 0)))))
        (should (equal (mapcar (lambda (place)
                                 (list (plist-get place :uri)
                                       (plist-get (plist-get (plist-get place :range) :end)
                                                  :character)
                                       (plist-get place :preview)))
                               (plist-get result :definitions))
                       (list (list (guest-uri two) 4 "here it is")))))
      (dotimes (n 300)
        (guest-write (format "%smany/f%d.txt" folder n) "here\n"))
      (let* ((cases-test-places (mapcar (lambda (n) (cons (format "%smany/f%d.txt" folder n) 1))
                                        (number-sequence 0 299)))
             (result (cases-test-result (list :uri uri :position '(:line 0 :character 0)))))
        (should (equal (length (plist-get result :definitions)) 100))
        (should (equal (plist-get (plist-get result :truncated) :definitions)
                       '(:returned 100 :total 300))))
      (should (= (length (buffer-list)) (1+ buffers))))))

(ert-deftest cases-c36-a-visited-file-that-is-none-any-more ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.txt" folder))
           (other (expand-file-name "b.txt" folder))
           (uri (guest-write file "here\n")))
      (with-current-buffer (find-file-noselect file) (cases-test-mode))
      (dolist (replace (list (lambda () (make-directory file))
                             (lambda () (delete-directory file) (call-process "mkfifo" nil nil nil file))
                             (lambda ()
                               (delete-file file)
                               (make-symbolic-link "/dev/zero" file))
                             (lambda () (delete-file file))))
        (when (file-regular-p file)
          (delete-file file))
        (funcall replace)
        (call-process "mkfifo" nil nil nil other)
        ;; What the editor has is what is asked about; a pipe has a place, and no text.
        (let* ((cases-test-places (list (cons file 1) (cons other 1)))
               (result (cases-test-result (list :uri uri :position '(:line 0 :character 0)))))
          (should (equal (mapcar (lambda (place) (plist-get place :preview))
                                 (plist-get result :definitions))
                         '("here" nil)))
          (should (equal (plist-get result :symbolAtPosition)
                         '(:text "here" :range (:start (:line 0 :character 0)
                                                       :end (:line 0 :character 4))
                                 :context "code" :preview "here"))))))))

(ert-deftest cases-c36-a-visited-file-that-must-not-be-read-any-more ()
  (guest-with-folder folder
    (guest-with-folder outside
      (let ((file (concat folder "a.txt"))
            (secret (concat outside "secret.txt")))
        (guest-write secret "secret\n")
        (dolist (outdate `((nil . ,(lambda () (guest-write file "there\n")))
                           ("too-large" . ,(lambda () (guest-write file (make-string 200 ?x))))
                           ("outside-workspace" . ,(lambda ()
                                                     (delete-file file)
                                                     (make-symbolic-link secret file)))))
          (let* ((large-file-warning-threshold 100)
                 (uri (guest-write file "here\n"))
                 (buffer (find-file-noselect file)))
            (funcall (cdr outdate))
            (set-file-times file (time-add nil 5))
            (ert-info ((format "%s" (car outdate)))
              (let* ((ask (list :uri uri :position '(:line 0 :character 0)))
                     (result (cases-test-result ask (list folder))))
                (should (equal (plist-get (plist-get result :symbolAtPosition) :text)
                               (if (car outdate) nil "there")))
                (when (car outdate)
                  (should (equal (car (cases-test-code ask (list folder))) (car outdate)))))
              (should (equal (with-current-buffer buffer (buffer-string)) "here\n")))
            (delete-file file)
            (kill-buffer buffer)))
        ;; What lies outside and is open itself, is.
        (find-file-noselect secret)
        (guest-write secret "other\n")
        (set-file-times secret (time-add nil 5))
        (should (equal (car (cases-test-symbol (guest-uri secret) 0 0 (list folder))) "other"))))))

(ert-deftest cases-a-place-in-unsaved-text ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.txt" folder))
           (other (expand-file-name "b.txt" folder))
           (uri (guest-write file "here\n")))
      (guest-write other "here\n")
      (with-current-buffer (find-file-noselect other)
        (insert "new first line\n"))
      (with-current-buffer (find-file-noselect file) (cases-test-mode))
      (let ((cases-test-places (list (cons other 2))))
        (should (equal (plist-get (cases-test-result
                                   (list :uri uri :position '(:line 0 :character 0)))
                                  :definitions)
                       (list (list :uri (guest-uri other)
                                   :range '(:start (:line 1 :character 0)
                                                   :end (:line 1 :character 4))
                                   :role "definition" :preview "here" :modified t))))))))

(ert-deftest cases-a-place-in-another-encoding ()
  (guest-with-folder folder
    (let* ((other (expand-file-name "b.txt" folder))
           (uri (guest-write (expand-file-name "a.txt" folder) "here\n"))
           (definition (lambda ()
                         (let ((found (plist-get (cases-test-result
                                                  (list :uri uri :position '(:line 0 :character 0)))
                                                 :definitions)))
                           (should (= (length found) 1))
                           (list (plist-get (plist-get (plist-get (car found) :range) :start)
                                            :character)
                                 (plist-get (car found) :preview)
                                 (plist-get (car found) :modified)))))
           (cases-test-places (list (cons other 1))))
      (guest-write other (encode-coding-string "変数 here\nmore\n" 'sjis-unix))
      (with-current-buffer (find-file-noselect (expand-file-name "a.txt" folder))
        (cases-test-mode))
      ;; Nobody knows what these bytes are; then the editor does.
      (should (equal (funcall definition) '(0 nil nil)))
      (let ((coding-system-for-read 'sjis))
        (find-file-noselect other))
      (should (equal (funcall definition) '(3 "変数 here" nil)))
      (with-current-buffer (find-buffer-visiting other)
        (insert "a "))
      (should (equal (funcall definition) '(5 "a 変数 here" t))))))

(ert-deftest cases-an-excluded-place-appears-nowhere ()
  (guest-with-folder folder
    (let* ((file (expand-file-name "a.txt" folder))
           (secret (expand-file-name "b.pem" folder))
           (link (expand-file-name "b.txt" folder))
           (uri (guest-write file "here\n")))
      (guest-write secret "here\n")
      (make-symbolic-link secret link)
      (with-current-buffer (find-file-noselect file) (cases-test-mode))
      (let* ((cases-test-places (list (cons secret 1) (cons link 1)))
             (result (cases-test-result (list :uri uri :position '(:line 0 :character 0)))))
        (should (plist-member result :definitions))
        (should-not (plist-get result :definitions)))
      (should (equal (car (cases-test-code (list :uri (guest-uri link)))) "excluded")))))

(ert-deftest cases-a-problem-in-an-excluded-file-appears-nowhere ()
  (guest-with-folder folder
    (let* ((uri (guest-write (concat folder "a.txt") "word\n"))
           (secret (concat folder ".env"))
           (eca-context-diagnostics-functions
            (list (lambda (&rest _)
                    (list :provider "odd" :kind "unknown" :status "ok" :fresh t
                          :items (mapcar (lambda (file)
                                           (vector file "error" "odd" nil [0 0 0 1] "Odd"))
                                         (list nil secret (guest-uri secret)
                                               (concat "file://" folder "%2Eenv"))))))))
      (guest-write secret "word\n")
      (find-file-noselect (concat folder "a.txt"))
      (dolist (params (list nil (list :uri uri)))
        (should (equal (mapcar (lambda (problem) (plist-get problem :uri))
                               (plist-get (plist-get (guest-ask "editor/getDiagnostics" params
                                                                (list folder))
                                                     :result)
                                          :diagnostics))
                       (list uri)))))))

(ert-deftest cases-each-feature-switched-off ()
  (guest-with-folder folder
    (let* ((features (remove "diagnostics" (mapcar #'car eca-context-collect-features)))
           (uri (guest-write (concat folder "a.el") "(defun cases-off (a)\n  \"Off.\"\n  a)\n"))
           (asked (list :uri uri :position '(:line 0 :character 8) :include (vconcat features)))
           (key (lambda (feature) (intern (concat ":" feature)))))
      (should (= (length features) 7))
      (find-file-noselect (concat folder "a.el"))
      (dolist (off features)
        (let* ((eca-context-disabled-features (list off))
               (result (cases-test-result asked (list folder)))
               (entries (seq-filter (lambda (entry) (equal (plist-get entry :capability) off))
                                    (plist-get result :unavailable))))
          (should (equal (mapcar (lambda (entry) (plist-get entry :code)) entries) '("disabled")))
          (should-not (plist-member result (funcall key off)))
          (should-not (plist-member (plist-get result :provenance) (funcall key off)))
          (dolist (feature (remove off features))
            (should (or (plist-member result (funcall key feature))
                        (seq-find (lambda (entry) (equal (plist-get entry :capability) feature))
                                  (plist-get result :unavailable)))))))
      (pcase-dolist (`(,method ,off) '(("editor/getDefinition" "definitions")
                                       ("editor/getReferences" "references")))
        (let ((eca-context-disabled-features (list off))
              (params (list :uri uri :position '(:line 1 :character 9))))
          (should (equal (plist-get (guest-ask method params (list folder)) :result)
                         (list :status "error"
                               :message (format "the user switched %s off" off)))))))))

(ert-deftest cases-diagnostics-switched-off ()
  (guest-with-folder folder
    (let* ((uri (guest-write (expand-file-name "a.txt" folder) "one\n"))
           (eca-context-disabled-features '("diagnostics" "definitions"))
           (asked (lambda (params)
                    (let ((result (plist-get (guest-ask "editor/getDiagnostics" params
                                                        (list (directory-file-name folder)))
                                             :result)))
                      (list (plist-get (car (plist-get result :diagnostics)) :message)
                            (plist-get (car (plist-get result :diagnostics)) :uri)
                            (plist-get (car (plist-get result :unavailable)) :code))))))
      (should (equal (funcall asked (list :uri uri))
                     (list "not checked: the user switched diagnostics off" uri "disabled")))
      (should (equal (funcall asked nil)
                     (list "not checked: the user switched diagnostics off"
                           (guest-uri (directory-file-name folder)) "disabled")))
      (should (equal (funcall asked '(:limit "x"))
                     (list "not checked: limit: got \"x\", expected an integer >= 1"
                           (guest-uri (directory-file-name folder)) "error")))
      (should (equal (cases-test-code (list :uri uri :include ["definitions"]))
                     '("disabled" "the user switched definitions off"))))))

(provide 'cases-test)
;;; cases-test.el ends here
