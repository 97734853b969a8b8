;;; serve-test.el --- Tests of the socket  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A plain client of its own process (tests/serve-client.py) asks the Emacs that runs the tests.

;;; Code:

(require 'cl-lib)
(require 'guest)
(require 'eca-context-report)
(require 'eca-context-serve)

(declare-function eca-context-module-serve-count "ext:eca-context-module" () t)
(declare-function eca-create-session "eca-stub" (workspace-roots))
(declare-function eca-delete-session "eca-stub" (session))

(defconst serve-test-client
  (expand-file-name "serve-client.py" (file-name-directory (or load-file-name buffer-file-name)))
  "The client's file.")

(defmacro serve-test-with (folder &rest body)
  "Evaluate BODY with a project in FOLDER and the socket's folder in it."
  (declare (indent 1) (debug (symbolp body)))
  `(guest-with-folder ,folder
     (let ((process-environment (cons (concat "XDG_RUNTIME_DIR=" ,folder) process-environment))
           (eca-context-serve-name "tests")
           (inhibit-message t))
       (make-directory (concat ,folder "repo/.git") t)
       (make-directory (concat ,folder "repo/src"))
       (guest-write (concat ,folder "repo/one.el") "(defun one ())\n\n(one)\n")
       (guest-write (concat ,folder "outside.el") "(one)\n")
       (unwind-protect (progn (eca-context-serve-mode 1)
                              (should eca-context-serve-mode)
                              ,@body)
         (eca-context-serve-mode -1)))))

(defmacro serve-test-visiting (file &rest body)
  "Evaluate BODY in a buffer that visits FILE."
  (declare (indent 1) (debug (form body)))
  `(with-current-buffer (find-file-noselect ,file)
     ,@body))

(defun serve-test-wait (done)
  "Wait until the function DONE returns non-nil and return that."
  (let ((deadline (+ (float-time) 30))
        value)
    (while (not (setq value (funcall done)))
      (when (> (float-time) deadline)
        (error "It did not come within half a minute"))
      (accept-process-output nil 0.01))
    value))

(defun serve-test-start (&rest steps)
  "Start a client that does STEPS; what is no string is sent as JSON."
  (make-process
   :name "client" :buffer (generate-new-buffer " *client*") :connection-type 'pipe
   :command (append (list "python3" serve-test-client eca-context-serve--socket)
                    (mapcar (lambda (step) (if (stringp step) step (json-serialize step))) steps))
   :sentinel #'ignore :noquery t))

(defun serve-test-output (process)
  "Return the lines that PROCESS printed, once it has ended."
  (serve-test-wait (lambda () (not (process-live-p process))))
  (accept-process-output process 0.1)
  (with-current-buffer (process-buffer process)
    (prog1 (split-string (buffer-string) "\n" t)
      (kill-buffer))))

(defun serve-test-parse (line)
  "Return LINE, a body, as a plist."
  (json-parse-string line :object-type 'plist :array-type 'list
                     :null-object nil :false-object nil))

(defun serve-test-ask (method &rest params)
  "Return the body that answers METHOD with PARAMS."
  (serve-test-parse
   (car (serve-test-output
         (serve-test-start (list :jsonrpc "2.0" :id 7 :method method :params params) "hear")))))

(ert-deftest serve-test-who-and-where ()
  (serve-test-with folder
    (let* ((repo (file-name-as-directory (file-truename (concat folder "repo"))))
           (ask (lambda (directory)
                  (plist-get (serve-test-ask "editor/hello" :workingDirectory directory) :result))))
      ;; Nothing of it is open.
      (should (equal (plist-get (funcall ask repo) :why) "none"))
      (should-not (plist-get (funcall ask repo) :roots))
      (serve-test-visiting (concat repo "one.el")
        (goto-char 5)
        (let ((hello (funcall ask (concat repo "src"))))
          (should (equal (plist-get hello :name) "tests"))
          (should (equal (plist-get hello :pid) (emacs-pid)))
          (should (equal (plist-get hello :why) "project"))
          (should (equal (mapcar #'file-truename (plist-get hello :roots)) (list repo)))
          (should (equal (plist-get hello :current)
                         (list :character 4 :line 0 :path (concat repo "one.el")))))
        (dolist (directory (list "/" (expand-file-name "~") "relative" "/no/such" "/ssh:x:/y" 5))
          (should (equal (plist-get (funcall ask directory) :why) "none")))
        ;; Sessions come first where they hold the directory, last where they do not.
        (require 'eca-stub)
        (let* ((elsewhere (file-name-as-directory (expand-file-name "other" folder)))
               (session (progn (make-directory elsewhere)
                               (eca-create-session (list elsewhere)))))
          (unwind-protect
              (pcase-dolist (`(,directory ,why) `((,repo "project") (,elsewhere "session")
                                                  ("/" "sessions")))
                (should (equal (plist-get (funcall ask directory) :why) why)))
            (eca-delete-session session)))))))

;; Who looks for projects may want to ask.
(ert-deftest serve-test-no-question ()
  (serve-test-with folder
    (let* ((repo (file-truename (concat folder "repo/")))
           (refused nil)
           (project-find-functions
            (list (lambda (_)
                    (condition-case err
                        (y-or-n-p "A project? ")
                      (error (push (car err) refused)
                             (signal (car err) (cdr err))))))))
      (serve-test-visiting (concat repo "one.el")
        (let ((hello (plist-get (serve-test-ask "editor/hello" :workingDirectory repo) :result)))
          (should (equal (plist-get hello :why) "project"))
          (should (equal (plist-get hello :roots) (list repo))))
        (should (equal (delete-dups refused) '(inhibited-interaction)))))))

(ert-deftest serve-test-answers-as-the-other-door ()
  (serve-test-with folder
    (let ((repo (file-truename (concat folder "repo/"))))
      (serve-test-visiting (concat repo "one.el")
        (let* ((params (list :uri (guest-uri (concat repo "one.el"))
                             :position (list :line 2 :character 2)
                             :include ["symbolAtPosition" "definitions" "documentSymbols"]))
               (said (apply #'serve-test-ask "editor/getContext" :workingDirectory repo params)))
          (should (equal (plist-get said :id) 7))
          (should (equal (plist-get said :result)
                         (plist-get (guest-ask "editor/getContext" params (list repo)) :result)))
          (should (equal (plist-get (plist-get (plist-get said :result) :symbolAtPosition) :text)
                         "one")))
        ;; Where the user is, without a file.
        (should (equal (plist-get (plist-get (serve-test-ask "editor/getContext"
                                                             :workingDirectory repo :include [])
                                             :result)
                                  :uri)
                       (guest-uri (concat repo "one.el"))))
        (pcase-dolist (`(,method ,params ,code)
                       `(("editor/getContext" (:limit 0) -32602)
                         ("editor/getContext" (:include 5) -32602)
                         ("workspace/executeCommand" (:command "x") -32601)))
          (should (equal (plist-get (plist-get (apply #'serve-test-ask method params) :error) :code)
                         code)))))))

(ert-deftest serve-test-c38-ids-stay ()
  (serve-test-with folder
    (let* ((ids `(0 -1 "" "0" "x 😀" ,(1+ (expt 2 60)) ,(- (expt 2 63))))
           (answers
            (mapcar #'serve-test-parse
                    (serve-test-output
                     (apply #'serve-test-start
                            (append (mapcan (lambda (id)
                                              (list (list :jsonrpc "2.0" :id id :method "editor/hello")
                                                    (list :jsonrpc "2.0" :id id :method "none")))
                                            ids)
                                    (list (format "hear:%d" (* 2 (length ids))))))))))
      (dolist (id ids)
        (should (equal (cons id (mapcar (lambda (said)
                                          (cons (and (plist-member said :result) t)
                                                (plist-get (plist-get said :error) :code)))
                                        (seq-filter (lambda (said) (equal (plist-get said :id) id))
                                                    answers)))
                       (list id '(t) '(nil . -32601))))))))

(ert-deftest serve-test-nothing-outside ()
  (serve-test-with folder
    (let ((repo (file-truename (concat folder "repo/"))))
      (serve-test-visiting (concat repo "one.el")
        (dolist (directory (list repo "/" nil))
          (let* ((params (list :uri (guest-uri (file-truename (concat folder "outside.el")))
                               :include ["documentSymbols"]))
                 (said (apply #'serve-test-ask "editor/getContext"
                              (append (and directory (list :workingDirectory directory)) params))))
            (should (equal (mapcar (lambda (entry) (plist-get entry :code))
                                   (plist-get (plist-get said :result) :unavailable))
                           '("outside-workspace")))))))))

(ert-deftest serve-test-nobody-else ()
  (serve-test-with folder
    (should (equal (file-modes eca-context-serve--socket) #o600))
    (should (equal (file-modes (file-name-directory eca-context-serve--socket)) #o700))
    ;; Only root can become somebody else, and nobody else is kept out of an open folder but by being
    ;; asked who he is.
    (when (zerop (user-uid))
      (let* ((hello (json-serialize '(:id 1 :method "editor/hello" :params (:x 1))))
             (try (lambda ()
                    (serve-test-output (serve-test-start "uid=65534" hello "hear")))))
        (should (string-prefix-p "refused" (car (funcall try))))
        (set-file-modes eca-context-serve--socket #o666)
        (dolist (open (list folder (file-name-directory eca-context-serve--socket)))
          (set-file-modes open #o711))
        (should (equal (car (last (funcall try))) "closed"))))))

(ert-deftest serve-test-many-and-dying ()
  (serve-test-with folder
    (let ((repo (file-truename (concat folder "repo/")))
          (one (lambda (id) (json-serialize (list :id id :method "editor/hello"
                                                  :params (list :workingDirectory folder))))))
      (serve-test-visiting (concat repo "one.el")
        (let* ((stays (serve-test-start (funcall one 1) "hear" "idle" (funcall one 2) "hear"))
               (garbled (serve-test-start "raw:GET / HTTP/1.1\r\n\r\n" "{" "[]" "hear:2"
                                          "raw:Content-Length: 99999999999\r\n\r\n" "hear"))
               (dies (apply #'serve-test-start
                            (mapcar (lambda (id)
                                      (json-serialize
                                       (list :id id :method "editor/getContext"
                                             :params (list :workingDirectory repo))))
                                    (number-sequence 1 40))))
               (many (apply #'serve-test-start
                            (append (mapcar one (number-sequence 1 50)) '("hear:50")))))
          (should (equal (mapcar (lambda (line)
                                   (plist-get (plist-get (serve-test-parse line) :error) :code))
                                 (butlast (serve-test-output garbled)))
                         '(-32700 -32600)))
          (serve-test-output dies)
          (should (equal (sort (mapcar (lambda (line) (plist-get (serve-test-parse line) :id))
                                       (serve-test-output many))
                               #'<)
                         (number-sequence 1 50)))
          (process-send-string stays "go\n")
          (should (= 2 (length (serve-test-output stays)))))))))

(ert-deftest serve-test-on-and-off ()
  (serve-test-with folder
    (let ((socket eca-context-serve--socket))
      (should (string-match-p "eca-context/tests\\.[0-9]+\\'" socket))
      (should (string-match-p "tests.*connected" (eca-context-serve-state)))
      (with-temp-buffer
        (eca-context-report--insert-versions)
        (should (string-match-p "^socket +.*tests" (buffer-string))))
      (let ((client (serve-test-start "hear")))
        (serve-test-wait (lambda () (equal (car (eca-context-module-serve-count)) 1)))
        (eca-context-serve-mode -1)
        (should (equal (serve-test-output client) '("closed"))))
      (should-not (file-exists-p socket))
      (should-not (memq #'eca-context-serve--close kill-emacs-hook))
      ;; A folder that others can enter is not used, and that is said.
      (set-file-modes (file-name-directory socket) #o755)
      (eca-context-serve-mode 1)
      (should-not eca-context-serve-mode)
      (should (string-match-p "open to other users" (eca-context-serve--start)))
      (set-file-modes (file-name-directory socket) #o700))))

(ert-deftest serve-test-guest ()
  (serve-test-with folder
    (let ((repo (file-truename (concat folder "repo/"))))
      (serve-test-visiting (concat repo "one.el")
        (let ((clients (mapcar (lambda (_)
                                 (serve-test-start "idle"
                                                   (list :id 1 :method "editor/hello"
                                                         :params (list :workingDirectory repo))
                                                   (list :id 2 :method "editor/getContext"
                                                         :params (list :workingDirectory repo))
                                                   "hear:2" "idle"))
                               '(1 2)))
              before)
          (cl-flet ((ask (client)
                      (process-send-string client "go\n")
                      (serve-test-wait
                       (lambda ()
                         (with-current-buffer (process-buffer client)
                           (= (count-lines (point-min) (point-max)) 2))))))
            (ask (car clients))
            (guest-settle)
            (setq before (guest-snapshot))
            (ask (cadr clients))
            (let ((after (guest-snapshot)))
              (should-not (guest-difference before after)))
            (mapc #'delete-process clients)
            (mapc (lambda (client) (kill-buffer (process-buffer client))) clients)))))))

(provide 'serve-test)
;;; serve-test.el ends here
