;;; xref-test.el --- Tests of what xref knows  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Definitions and references of Emacs Lisp, of tags tables, and of every kind of place a backend may
;; name; nothing is visited, nobody is asked.

;;; Code:

(require 'cl-lib)
(require 'etags)
(require 'find-func)
(require 'grep)
(require 'guest)
(require 'project)
(require 'xref)

;;;; Emacs Lisp

(defconst xref-test-zoo
  ";;; xref-test-zoo.el --- Animals  -*- lexical-binding: t -*-
\(require 'cl-lib)
;; (defun xref-test-zoo-fun ())
\(defvar xref-test-zoo-text \"\\
\(defun xref-test-zoo-fun ())\")
\(defun xref-test-zoo-fun () 1)
  (defun def () 2)
\(defvar var nil)
\(defmacro xref-test-zoo-macro (x) x)
\(cl-defgeneric xref-test-zoo-say (animal) \"Say.\")
\(cl-defmethod xref-test-zoo-say ((animal string) &optional n) \"Say so.\" (list animal n))
\(cl-defmethod xref-test-zoo-say :before ((animal symbol)) \"Before.\" animal)
\(cl-defgeneric (setf xref-test-zoo-name) (value animal))
\(cl-defstruct (xref-test-zoo-cat (:constructor xref-test-zoo-new))
  \"A cat with lives, see xref-test-zoo-fun.\"
  (lives 9) fur)
\(cl-defstruct xref-test-zoo-dog tail)
\(define-minor-mode xref-test-zoo-mode \"Mode.\" :global t)
\(defcustom xref-test-zoo-option 1 \"Option.\" :type 'integer :group 'xref-test-zoo)
\(defface xref-test-zoo-face '((t)) \"Face.\")
\(defalias 'xref-test-zoo-alias #'xref-test-zoo-fun)
\(define-obsolete-function-alias 'xref-test-zoo-old 'xref-test-zoo-fun \"1\")
\(defsubst
  xref-test-zoo-below () 3)
\(define-derived-mode xref-test-zoo-derived-mode text-mode \"Derived\")
\(defun xref-test-zoo-\\,odd () 4)
\(provide 'xref-test-zoo)
"
  "A library with a definition of each kind.")

(defconst xref-test-places
  '(("(xref-test-zoo-fun)" "(defun xref-test-zoo-fun () 1)" "xref-test-zoo-fun")
    ("(def)" "  (defun def () 2)" "def")
    ("(list var)" "(defvar var nil)" "var")
    ("(xref-test-zoo-macro 1)" "(defmacro xref-test-zoo-macro (x) x)" "xref-test-zoo-macro")
    ("(xref-test-zoo-cat-lives x)" "  (lives 9) fur)" "lives")
    ("(xref-test-zoo-cat-fur x)" "  (lives 9) fur)" "fur")
    ("(xref-test-zoo-new)" "(cl-defstruct (xref-test-zoo-cat (:constructor xref-test-zoo-new))"
     "xref-test-zoo-cat")
    ("(xref-test-zoo-cat-p x)" "(cl-defstruct (xref-test-zoo-cat (:constructor xref-test-zoo-new))"
     "xref-test-zoo-cat")
    ("(make-xref-test-zoo-dog)" "(cl-defstruct xref-test-zoo-dog tail)" "xref-test-zoo-dog")
    ("(xref-test-zoo-mode 1)"
     "(define-minor-mode xref-test-zoo-mode \"Mode.\" :global t)" "xref-test-zoo-mode")
    ("(list xref-test-zoo-mode-hook)"
     "(define-minor-mode xref-test-zoo-mode \"Mode.\" :global t)" "xref-test-zoo-mode")
    ("(list xref-test-zoo-option)"
     "(defcustom xref-test-zoo-option 1 \"Option.\" :type 'integer :group 'xref-test-zoo)"
     "xref-test-zoo-option")
    ("(facep 'xref-test-zoo-face)" "(defface xref-test-zoo-face '((t)) \"Face.\")"
     "xref-test-zoo-face")
    ("(require 'xref-test-zoo)" "(provide 'xref-test-zoo)" "xref-test-zoo")
    ("(xref-test-zoo-old)"
     "(define-obsolete-function-alias 'xref-test-zoo-old 'xref-test-zoo-fun \"1\")"
     "xref-test-zoo-old")
    ("(xref-test-zoo-below)" "  xref-test-zoo-below () 3)" "xref-test-zoo-below")
    ("(list xref-test-zoo-derived-mode-map)"
     "(define-derived-mode xref-test-zoo-derived-mode text-mode \"Derived\")"
     "xref-test-zoo-derived-mode"))
  "Code, and the line and name of the definition of its last symbol, or its first.")

(defun xref-test-load (file)
  "Write the zoo into FILE and load it; a compressed FILE is beside its .elc."
  (when (featurep 'xref-test-zoo)
    (unload-feature 'xref-test-zoo t)
    ;; Faces stay, and where they were defined, too.
    (put 'xref-test-zoo-face 'face-defface-spec nil))
  (xref-test-write file xref-test-zoo)
  (let ((inhibit-message t)
        (source (string-remove-suffix ".gz" file)))
    (if (equal source file)
        (load file nil t t)
      (xref-test-write source xref-test-zoo)
      (byte-compile-file source)
      (delete-file source)
      (load (concat source "c") nil t t))))

(defun xref-test-write (file text)
  "Write TEXT into FILE, compressed if it is called so."
  (make-directory (file-name-directory file) t)
  (let ((inhibit-message t))
    (with-temp-file file (insert text))))

(defun xref-test-outcomes (code functions &optional backends)
  "Return what FUNCTIONS say at the symbol in CODE, Emacs Lisp, by its outcomes.
BACKENDS is for `xref-backend-functions'."
  (with-temp-buffer
    (insert code)
    (emacs-lisp-mode)
    (when backends (setq-local xref-backend-functions backends))
    (goto-char (point-min))
    (if (string-match "list \\|facep '\\|require '" code)
        (goto-char (1+ (match-end 0)))
      (forward-char))
    (let ((inhibit-interaction t))
      (funcall functions (list :deadline (+ (float-time) 10)) #'ignore))))

(defun xref-test-seen (outcomes)
  "Return the line and the name at the first place in OUTCOMES, from its file."
  (let ((item (car (seq-mapcat (lambda (outcome) (plist-get outcome :items)) outcomes))))
    (and item
         (with-temp-buffer
           (insert-file-contents (aref item 0))
           (forward-line (aref item 1))
           (list (buffer-substring (point) (line-end-position))
                 (buffer-substring (+ (point) (aref item 2)) (+ (point) (aref item 4))))))))

(ert-deftest xref-test-emacs-lisp-of-every-kind ()
  (guest-with-folder folder
    (dolist (name '("xref-test-zoo.el" "gz/xref-test-zoo.el.gz"))
      (xref-test-load (expand-file-name name folder))
      (let ((load-path (cons (file-name-directory (expand-file-name name folder)) load-path))
            (buffers (buffer-list)))
        (pcase-dolist (`(,code ,line ,symbol) xref-test-places)
          (let ((outcomes (xref-test-outcomes code #'eca-context-xref-definitions)))
            (should (equal (list code line symbol) (cons code (xref-test-seen outcomes))))
            (should (equal (plist-get (car outcomes) :kind) "semantic"))))
        (should-not (seq-remove (lambda (buffer) (string-prefix-p " " (buffer-name buffer)))
                                (seq-difference (buffer-list) buffers)))))))

(ert-deftest xref-test-methods-and-generics ()
  (guest-with-folder folder
    (xref-test-load (expand-file-name "xref-test-zoo.el" folder))
    (let* ((load-path (cons folder load-path))
           (items (plist-get (car (xref-test-outcomes "(xref-test-zoo-say 1)"
                                                      #'eca-context-xref-definitions))
                             :items)))
      (should (equal (sort (mapcar (lambda (item) (list (aref item 1) (aref item 2) (aref item 4)))
                                   items)
                           (lambda (a b) (< (car a) (car b))))
                     '((9 15 32) (10 14 31) (11 14 31)))))))

(ert-deftest xref-test-advice-hides-nothing ()
  (guest-with-folder folder
    (xref-test-load (expand-file-name "xref-test-zoo.el" folder))
    (let ((load-path (cons folder load-path)))
      (unwind-protect
          (progn
            (advice-add 'xref-test-zoo-fun :around (lambda (f) (funcall f)) '((name . xref-test)))
            (should (equal (xref-test-seen (xref-test-outcomes "(xref-test-zoo-fun)"
                                                               #'eca-context-xref-definitions))
                           '("(defun xref-test-zoo-fun () 1)" "xref-test-zoo-fun"))))
        (advice-remove 'xref-test-zoo-fun 'xref-test)))))

(ert-deftest xref-test-c21-the-c-of-emacs ()
  (let ((outcome (car (xref-test-outcomes "(car x)" #'eca-context-xref-definitions))))
    (should (equal (list (plist-get outcome :status) (plist-get outcome :reason))
                   '("error" "The source of car is not on this machine"))))
  (guest-with-folder folder
    (guest-write (concat folder "data.c") "/* car */\nDEFUN (\"car\", Fcar, Scar, 1, 1, 0,\n")
    (let* ((find-function-C-source-directory folder)
           (item (car (plist-get (car (xref-test-outcomes "(car x)" #'eca-context-xref-definitions))
                                 :items))))
      (should (equal item (vector (concat folder "data.c") 1 8 1 11 "car"))))))

(ert-deftest xref-test-compressed-and-unsaved-through-the-door ()
  (guest-with-folder folder
    (dolist (name '("gz/xref-test-zoo.el.gz" "xref-test-zoo.el"))
      (let* ((file (expand-file-name name folder))
             (uri (guest-write (concat folder "user.el") "(xref-test-zoo-fun)\n"))
             (asked (list :uri uri :position '(:line 0 :character 3) :include ["definitions"])))
        (xref-test-load file)
        (let* ((load-path (cons (file-name-directory file) load-path))
               (places (plist-get (guest-check "editor/getContext" asked) :definitions)))
          (should (equal places
                         (list (list :uri (guest-uri file)
                                     :range '(:start (:line 5 :character 7)
                                                     :end (:line 5 :character 24))
                                     :role "definition" :preview "(defun xref-test-zoo-fun () 1)"))))
          ;; Where a buffer has it, the buffer's text counts, as it lies.
          (with-current-buffer (find-file-noselect file)
            (insert ";; new\n")
            (narrow-to-region (point-max) (point-max))
            (let ((place (car (plist-get (guest-check "editor/getContext" asked) :definitions))))
              (should (equal (plist-get (plist-get (plist-get place :range) :start) :line) 6))
              (should (equal (plist-get place :preview) "(defun xref-test-zoo-fun () 1)"))
              (should (eq (plist-get place :modified) t)))
            (should (= (point-min) (point-max)))))))))

;;;; Every kind of place

(cl-defstruct xref-test-place "A place of a backend of its own." group line marker)
(cl-defmethod xref-location-group ((place xref-test-place)) (xref-test-place-group place))
(cl-defmethod xref-location-line ((place xref-test-place)) (xref-test-place-line place))
(cl-defmethod xref-location-marker ((place xref-test-place))
  (funcall (xref-test-place-marker place)))

(defclass xref-test-class () ((file :initarg :file)) "A place as older packages have it.")
(cl-defmethod xref-location-group ((place xref-test-class)) (oref place file))
(cl-defmethod xref-location-marker ((place xref-test-class))
  (with-current-buffer (find-file-noselect (oref place file))
    (goto-char (point-min))
    (forward-line 1)
    (point-marker)))

(defvar xref-test-found nil "What the backend finds: locations.")
(cl-defmethod xref-backend-identifier-at-point ((_ (eql xref-test))) "there")
(cl-defmethod xref-backend-definitions ((_ (eql xref-test)) _identifier)
  (mapcar (lambda (location) (xref-make "there" location)) xref-test-found))

(defun xref-test-asked (places)
  "Return the items for PLACES, locations of a backend, and the reason, if any."
  (let* ((xref-test-found places)
         (outcome (car (xref-test-outcomes "(there)" #'eca-context-xref-definitions
                                           (list (lambda () 'xref-test))))))
    (cons (plist-get outcome :reason) (plist-get outcome :items))))

(ert-deftest xref-test-locations-of-every-kind ()
  (guest-with-folder folder
    (let* ((file (concat folder "a b#é.txt"))
           (place (lambda (line column) (list nil (vector file line column nil nil "there"))))
           (buffers (buffer-list))
           (hooked nil)
           (find-file-hook (list (lambda () (setq hooked t)))))
      (guest-write file "here\nthere\n")
      (dolist (case `((,(xref-make-file-location file 2 0) ,(funcall place 1 0))
                      (,(xref-make-file-location file nil nil) ,(funcall place nil nil))
                      (,(make-xref-test-place :group file :line 2) ,(funcall place 1 nil))
                      (,(make-xref-test-place
                         :group "Some group"
                         :marker (lambda ()
                                   (with-current-buffer (find-file-noselect file)
                                     (copy-marker 6))))
                       ,(funcall place 1 0))
                      (,(xref-test-class :file file) ,(funcall place 1 0))
                      (,(xref-make-file-location "jar:file:///x.jar!/a/B.java" 3 4)
                       (nil ["jar:file:///x.jar!/a/B.java" 2 4 nil nil "there"]))
                      (,(xref-make-bogus-location "Nobody knows") ("Nobody knows"))))
        (should (equal (cdr case) (list (xref-test-asked (list (car case))))))
        (should-not (seq-remove (lambda (buffer) (string-prefix-p " " (buffer-name buffer)))
                                (seq-difference (buffer-list) buffers))))
      (should-not hooked)
      ;; In the buffers of the user.
      (with-current-buffer (find-file-noselect file)
        (narrow-to-region 1 2)
        (let ((indirect (make-indirect-buffer (current-buffer) "xref-test-indirect")))
          (dolist (buffer (list (current-buffer) indirect (buffer-name)))
            (should (equal (xref-test-asked (list (xref-make-buffer-location buffer 6)))
                           (funcall place 1 0))))
          (kill-buffer indirect))
        (should (= (point-max) 2)))
      (with-temp-buffer
        (should (equal (xref-test-asked (list (xref-make-buffer-location (current-buffer) 1)))
                       '("The place is in no file")))))))

(ert-deftest xref-test-one-bad-place-does-not-harm-the-others ()
  (guest-with-folder folder
    (let* ((file (concat folder "a.txt"))
           (good (xref-make-file-location file 2 0))
           (item (vector file 1 0 nil nil "there")))
      (guest-write file "here\nthere\n")
      (dolist (bad (list (make-xref-test-place :group file :marker (lambda () (error "Broken")))
                         (make-xref-test-place :group 5 :line 5 :marker (lambda () nil))
                         (xref-make-file-location nil 1 0)
                         (xref-make-file-location (concat folder "a\0b") 1 0)
                         (xref-make-file-location file -3 0) (xref-make-file-location file 0 0)
                         (xref-make-file-location file "2" 0) (xref-make-file-location file 2 -1)
                         (xref-make-file-location (concat folder "gone") 1 0)
                         (xref-make-buffer-location (generate-new-buffer "xref-test-gone") 1)
                         (xref-make-bogus-location "x") 'no-location nil))
        (when (xref-buffer-location-p bad)
          (kill-buffer (xref-buffer-location-buffer bad)))
        (should (equal (xref-test-asked (list bad good bad)) (list nil item)))
        (should (stringp (car (xref-test-asked (list bad)))))))))

;;;; Tags tables

(defun xref-test-tags (folder &rest files)
  "Write FILES, names and texts, into FOLDER, and a TAGS table; return its name.
Lines that begin with \"def \" have tags."
  (let ((table (concat folder "TAGS")) sections)
    (while files
      (let* ((name (pop files))
             (text (pop files))
             (start 0)
             tags)
        (xref-test-write (concat folder name) text)
        (while (string-match "^def \\([^ \n]+\\)" text start)
          (setq start (match-end 0))
          (push (format "%s\177%s\001%d,%d\n" (match-string 0 text) (match-string 1 text)
                        (1+ (seq-count (lambda (char) (eq char ?\n))
                                       (substring text 0 (match-beginning 0))))
                        (match-beginning 0))
                tags))
        (let ((tags (apply #'concat (nreverse tags))))
          (push (format "\f\n%s,%d\n%s" name (string-bytes tags) tags) sections))))
    (let ((coding-system-for-write 'utf-8-unix))
      (write-region (apply #'concat (nreverse sections)) nil table nil 'silent))
    table))

(defun xref-test-tagged (name)
  "Return the outcome of tags tables for NAME."
  (with-temp-buffer
    (insert name)
    (backward-char)
    (let ((inhibit-interaction t))
      (car (eca-context-xref-definitions nil nil)))))

(ert-deftest xref-test-tags-tables-as-they-lie ()
  (guest-with-folder folder
    (let* ((tags-file-name nil)
           (tags-table-list nil)
           (buffers (buffer-list))
           (table (xref-test-tags folder "a.txt" "one\n  two\ndef there\ndef thereabout\n"
                                  "sub/b.txt" "é𝒳\ndef there (x) there\n"
                                  "c.txt.gz" "def packed\n")))
      (should (equal (plist-get (xref-test-tagged "there") :status) "no-provider"))
      ;; As the table is on disk, with a line more in the file than when it was made.
      (with-temp-file (concat folder "a.txt") (insert "new\none\n  two\ndef there\n"))
      (dolist (set (list (lambda () (setq tags-file-name table))
                         (lambda () (setq tags-file-name nil tags-table-list (list folder)))
                         (lambda () (setq tags-table-list (list (concat folder "none") table)))))
        (funcall set)
        (let* ((file tags-file-name)
               (tables tags-table-list)
               (outcome (xref-test-tagged "there")))
          (should (equal (plist-get outcome :kind) "textual"))
          (should (equal (plist-get outcome :items)
                         (list (vector (concat folder "a.txt") 3 4 3 9 "there")
                               (vector (concat folder "sub/b.txt") 1 4 1 9 "there"))))
          (should (equal (list file tables) (list tags-file-name tags-table-list)))
          (should-not (seq-remove (lambda (buffer) (string-prefix-p " " (buffer-name buffer)))
                                  (seq-difference (buffer-list) buffers)))))
      (setq tags-table-list nil tags-file-name table)
      (let ((outcome (xref-test-tagged "packed")))
        (should (equal (plist-get outcome :items)
                       (list (vector (concat folder "c.txt.gz") 0 4 0 10 "packed"))))
        (should (equal (plist-get outcome :texts)
                       (list (vector (concat folder "c.txt.gz") "def packed\n" nil)))))
      ;; One that the user has open and that has changed since is not asked about.
      (let ((buffer (find-file-noselect table)))
        (with-current-buffer buffer (tags-table-mode))
        (set-file-times table (time-add nil 60))
        (should (equal (plist-get (xref-test-tagged "thereabout") :reason)
                       "The tags table is older than a.txt"))
        (kill-buffer buffer))
      (setq tags-file-name (concat folder "none"))
      (should (equal (plist-get (xref-test-tagged "there") :reason)
                     (format "There is no tags table %snone" (abbreviate-file-name folder)))))))

;;;; References

(defun xref-test-references (file target &optional roots seconds)
  "Return the outcomes for references to TARGET, where it first stands in FILE.
ROOTS are the workspace folders; they come within SECONDS (10)."
  (with-current-buffer (find-file-noselect file)
    (goto-char (point-min))
    (search-forward target)
    (goto-char (match-beginning 0))
    (let* ((said 'nothing)
           (deadline (+ (float-time) (or seconds 10)))
           (inhibit-interaction t)
           (now (eca-context-xref-references
                 (list :path file :roots roots :deadline deadline)
                 (lambda (outcomes) (setq said outcomes)))))
      (if (not (eq now :async))
          now
        (while (and (eq said 'nothing) (< (float-time) (+ deadline 5)))
          (accept-process-output nil 0.005))
        said))))

(defun xref-test-project (folder &rest files)
  "Write FILES, names and texts, into FOLDER and make it a project of project.el."
  (make-directory (concat folder ".git") t)
  (while files
    (xref-test-write (concat folder (pop files)) (pop files))))

(defun xref-test-brief (folder outcomes)
  "Return OUTCOMES, names of files relative to FOLDER, by kind, status and items."
  (mapcar (lambda (outcome)
            (list (plist-get outcome :kind) (plist-get outcome :status)
                  (sort (mapcar (lambda (item)
                                  (cons (file-relative-name (aref item 0) folder)
                                        (append (seq-subseq item 1 5) (list (aref item 6)))))
                                (plist-get outcome :items))
                        (lambda (a b) (string< (format "%S" a) (format "%S" b))))))
          outcomes))

(defmacro xref-test-leaving-nothing (&rest body)
  "Evaluate BODY; buffers, processes or timers that stay are a failure."
  (declare (debug (body)))
  `(let ((buffers (buffer-list))
         (processes (process-list))
         (timers (length timer-list)))
     (prog1 (progn ,@body)
       (should-not (seq-remove (lambda (buffer)
                                 (string-prefix-p " *code-conversion" (buffer-name buffer)))
                               (seq-difference (buffer-list) buffers)))
       (should-not (seq-difference (process-list) processes))
       (should (<= (length timer-list) timers)))))

(ert-deftest xref-test-references-by-text ()
  (guest-with-folder folder
    (xref-test-project folder
                       "a b/é#1.py" "total = 1\n\ts = \"𝒳\"; total(total_x, total)\nsubtotal\n"
                       "c.py" "\ufeffx = total\r\n" "d.txt" "total\n" ".git/e.py" "total\n"
                       "f.pyi" "total: int\n" "g.py" (string ?t ?o ?t ?a ?l 0 ?\n))
    (find-file-noselect (concat folder "a b/é#1.py"))
    (let ((tags-file-name nil) (tags-table-list nil))
      (dolist (roots (list nil (list folder) (list (concat folder "a b/") folder)))
        (should (equal (xref-test-brief
                        folder
                        (xref-test-leaving-nothing
                         (xref-test-references (concat folder "a b/é#1.py") "total" roots)))
                       '(("textual" "ok" (("a b/é#1.py" 0 0 0 5 nil) ("a b/é#1.py" 1 11 1 16 nil)
                                          ("a b/é#1.py" 1 26 1 31 nil) ("c.py" 0 4 0 9 nil)
                                          ("f.pyi" 0 0 0 5 nil)))))))
      ;; A workspace that is only a part of the project, and one that is elsewhere.
      (should (equal (mapcar #'caar
                             (mapcar #'caddr
                                     (xref-test-brief folder
                                                      (xref-test-references
                                                       (concat folder "a b/é#1.py") "total"
                                                       (list (concat folder "a b"))))))
                     '("a b/é#1.py")))
      (should (equal (xref-test-brief folder (xref-test-references (concat folder "a b/é#1.py")
                                                                   "total" '("/usr/lib")))
                     '(("textual" "outside-workspace" nil)))))))

(ert-deftest xref-test-c21-references-without-a-project ()
  (guest-with-folder folder
    (guest-write (concat folder "a.el") "(car x)\n")
    (let ((outcomes (xref-test-leaving-nothing
                     (prog1 (xref-test-references (concat folder "a.el") "car")
                       (kill-buffer (get-file-buffer (concat folder "a.el")))))))
      (should (equal (delete-dups (mapcar (lambda (outcome)
                                            (list (plist-get outcome :status)
                                                  (plist-get outcome :reason)))
                                          outcomes))
                     '(("would-prompt"
                        "it wanted to ask the user, for the file is in no project")))))))

(defvar project--list)
(defvar project-list-file)

(ert-deftest xref-test-references-enter-no-project ()
  (guest-with-folder folder
    (xref-test-project folder "user.el" "(car nil)\n")
    (let ((project-list-file (concat folder "projects"))
          (project--list 'unset))
      (should (xref-test-references (concat folder "user.el") "car" (list folder)))
      (should-not (file-exists-p project-list-file))
      (should (eq project--list 'unset)))))

(ert-deftest xref-test-references-mark-the-declaration ()
  (guest-with-folder folder
    (xref-test-project folder "user.el" "(list (xref-test-zoo-fun))\n")
    (xref-test-load (concat folder "xref-test-zoo.el"))
    (let* ((load-path (cons folder load-path))
           (outcomes (xref-test-references (concat folder "user.el") "xref-test-zoo-fun"
                                           (list folder))))
      (should (equal (xref-test-brief folder outcomes)
                     '(("textual" "ok"
                        (("user.el" 0 7 0 24 :json-false)
                         ("xref-test-zoo.el" 2 10 2 27 :json-false)
                         ("xref-test-zoo.el" 20 33 20 50 :json-false)
                         ("xref-test-zoo.el" 21 52 21 69 :json-false)
                         ("xref-test-zoo.el" 4 7 4 24 :json-false)
                         ("xref-test-zoo.el" 5 7 5 24 t)))))))))

(defvar xref-test-references nil "What the backend calls references: a function.")
(cl-defmethod xref-backend-references ((_ (eql xref-test)) _identifier)
  (funcall xref-test-references))

(defun xref-test-own (folder references &optional roots seconds)
  "Return the outcomes of a backend that calls REFERENCES in a file of FOLDER.
ROOTS and SECONDS are those of `xref-test-references'."
  (let ((xref-test-references references)
        (tags-file-name nil)
        (file (concat folder "asked.txt")))
    (unless (file-exists-p file)
      (guest-write file "there\n"))
    (with-current-buffer (find-file-noselect file)
      (setq-local xref-backend-functions (list (lambda () 'xref-test) t)))
    (xref-test-references file "there" roots seconds)))

(ert-deftest xref-test-references-of-a-backends-own ()
  (guest-with-folder folder
    (let* ((file (concat folder "a.txt"))
           (text "there \"𝒳\" there there\n")
           (item (lambda (summary column length)
                   (xref-make-match (propertize summary 'face 'bold)
                                    (xref-make-file-location file 1 column) length)))
           (places (lambda (&rest found)
                     (mapcar (lambda (item) (append (seq-subseq item 2 5) nil))
                             (plist-get (car (xref-test-own folder (lambda () found))) :items)))))
      (guest-write file text)
      ;; As xref itself cuts a line: to the next match, from the match.
      (should (equal (funcall places (funcall item "there \"𝒳\" " 0 5) (funcall item "there " 10 5)
                              (funcall item "there" 16 5))
                     '((0 0 5) (11 0 16) (17 0 22))))
      ;; Where the text does not fit, the module finds the name.
      (should (equal (funcall places (funcall item "x there" 10 5) (funcall item "there" 16 5)
                              (xref-make "there" (xref-make-file-location file 1 3)))
                     '((10 nil nil) (16 nil nil) (3 nil nil))))
      ;; A backend of its own ends the search, in no project, too; a bad place harms only itself.
      (let ((outcomes (xref-test-own folder
                                     (lambda ()
                                       (list (xref-make "x" (xref-make-file-location file 0 0))
                                             (xref-make "x" (xref-make-file-location nil 1 0))
                                             (xref-make "x" (xref-make-bogus-location "x"))
                                             (xref-make "x" (xref-make-file-location file 1 0)))))))
        (should (equal (mapcar (lambda (outcome)
                                 (list (plist-get outcome :kind) (plist-get outcome :status)
                                       (plist-get outcome :items)))
                               outcomes)
                       (list (list "unknown" "ok"
                                   (list (vector file 0 0 nil nil "there" nil nil))))))))))

(ert-deftest xref-test-references-that-fail ()
  (guest-with-folder folder
    (xref-test-project folder)
    (pcase-dolist (`(,references ,status ,reason)
                   `((,(lambda () (error "Broken")) "error" "Broken")
                     (,(lambda () (list (xref-make "x" (xref-make-bogus-location "gone"))))
                      "error" "gone")
                     (,(lambda () (find-file-noselect (concat folder "asked.txt"))
                         (find-file-noselect (concat folder "new.txt"))
                         (get-buffer-create "*xref-test-new*")
                         nil)
                      "ok" nil)))
      (xref-test-own folder #'ignore)
      (let ((outcomes (xref-test-leaving-nothing (xref-test-own folder references))))
        (should (equal (list (plist-get (car outcomes) :status) (plist-get (car outcomes) :reason))
                       (list status reason)))
        ;; The next one is asked, and then who would ask the user is forgotten.
        (should (equal (plist-get (car (xref-test-own folder (lambda () (read-string "Where? "))))
                                  :provider)
                       "xref etags"))
        (should (equal (plist-get (cadr outcomes) :items)
                       (list (vector (concat folder "asked.txt") 0 0 0 5 "there" nil nil))))))))

(ert-deftest xref-test-typing-wins ()
  (guest-with-folder folder
    (let* ((file (concat folder "a.txt"))
           (n-asked 0)
           (busy t)
           (xref-test-references (lambda ()
                                   (setq n-asked (1+ n-asked))
                                   (list (xref-make "x" (xref-make-file-location file 1 0)))))
           (ask (lambda (seconds)
                  (let ((said nil)
                        (deadline (+ (float-time) seconds)))
                    (with-current-buffer (find-file-noselect file)
                      (setq-local xref-backend-functions (list (lambda () 'xref-test)))
                      (goto-char 3)
                      (should (eq (let ((unread-command-events (list ?a)))
                                    (eca-context-xref-references
                                     (list :path file :deadline deadline)
                                     (lambda (outcomes) (setq said outcomes))))
                                  :async))
                      (goto-char (point-max)))
                    (should (= n-asked 0))
                    (while (and (null said) (< (float-time) (+ deadline 5)))
                      (accept-process-output nil 0.01))
                    said))))
      (guest-write file "there\n")
      (cl-letf (((symbol-function 'current-idle-time)
                 (lambda () (unless busy (seconds-to-time 1)))))
        (should (equal (plist-get (funcall ask 0.2) :status) "busy"))
        (should (= n-asked 0))
        ;; When the user rests, it is asked at the place it was asked about.
        (setq busy nil)
        (let ((outcomes (funcall ask 5)))
          (should (= n-asked 1))
          (should (equal (plist-get (car outcomes) :items)
                         (list (vector file 0 0 nil nil "there" nil nil)))))))))

(ert-deftest xref-test-a-search-ends-with-its-request ()
  (guest-with-folder folder
    (xref-test-project folder "a.txt" "there\n")
    ;; A grep that finds something and goes on.
    (let ((grep (concat folder "slow-grep")))
      (guest-write grep (format "#!/bin/sh\nprintf '%%s\\0%%s' %sa.txt '1:there\n2:the'\nexec sleep 60\n"
                                folder))
      (set-file-modes grep #o700)
      (let* ((grep-program grep)
             (start (float-time))
             (_ (xref-test-own folder (lambda () (error "No"))  nil 0))
             (outcomes (xref-test-leaving-nothing
                        (xref-test-own folder (lambda () (error "No")) nil 1))))
        (should (< (- (float-time) start) 3))
        (should (equal (mapcar (lambda (outcome)
                                 (list (plist-get outcome :status) (length (plist-get outcome :items))))
                               outcomes)
                       '(("error" 0) ("ok" 1) ("timeout" 0))))))))

(ert-deftest xref-test-unsaved-text-is-searched-as-it-is ()
  (guest-with-folder folder
    (let ((true (file-name-as-directory (concat folder "true")))
          (said nil))
      (make-directory true)
      (make-symbolic-link "true" (concat folder "link"))
      (dolist (name '("saved.txt" "moved.txt" "gone.txt" "new.txt" "linked.txt" "other.c"))
        (guest-write (concat true name) (if (equal name "new.txt") "" "there\n")))
      (dolist (edit '(("true/moved.txt" . "é🙂 there is more, theres no there\n")
                      ("true/gone.txt" . "") ("true/new.txt" . "x there")
                      ("link/linked.txt" . "\n\nthere") ("true/other.c" . "there there")))
        (with-current-buffer (find-file-noselect (concat folder (car edit)))
          (erase-buffer)
          (insert (cdr edit))
          (goto-char (point-min))
          (narrow-to-region (point) (point))))
      (xref-test-leaving-nothing
        (eca-context-grep "there" (list true) '("*.txt") (+ (float-time) 20)
                          (lambda (places why) (setq said (list places why))))
        (while (not said)
          (accept-process-output nil 0.01)))
      (should (equal (sort (mapcar (lambda (place)
                                     (cons (file-name-nondirectory (car place)) (cdr place)))
                                   (car said))
                           (lambda (a b) (string< (format "%S" a) (format "%S" b))))
                     '(("linked.txt" 2 0 5) ("moved.txt" 0 29 34) ("moved.txt" 0 4 9)
                       ("new.txt" 0 2 7) ("saved.txt" 0 0 5))))
      (should-not (cadr said)))))

(ert-deftest xref-test-which-files-are-of-a-language ()
  (dolist (case '((python-mode "/a.py" ("*.py" "*.pyi" "*.pyw"))
                  (python-ts-mode "/a.py" ("*.py" "*.pyi" "*.pyw"))
                  (emacs-lisp-mode "/a.el" ("*.el")) (emacs-lisp-mode "/a.el.gz" ("*.el"))
                  (fundamental-mode "/a.xyz" ("*.xyz")) (fundamental-mode "/README" ("README"))
                  (rust-ts-mode nil nil)))
    (should (equal (cons (car case) (last case))
                   (list (car case) (eca-context-grep-patterns (car case) (cadr case)))))))

(provide 'xref-test)
;;; xref-test.el ends here
