;;; eca-test.el --- Conversations with a server through eca-emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A server process speaks real frames over pipes; eca-emacs is the stand-in, or the real one where the
;; environment variable ECA_EMACS_DIR names its folder.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'flymake)
(require 'json)
(require 'seq)
(require 'subr-x)
(require 'url-util)
(require 'eca-context)
(require 'eca-context-collect)
(require 'eca-context-eca)
(require 'eca-context-log)

(declare-function eca-create-session "ext:eca-util" (workspace-roots) t)
(declare-function eca-delete-session "ext:eca-util" (session) t)
(declare-function eca-process--make-filter "ext:eca-process" (handle-msg) t)
(declare-function eca--handle-message "ext:eca" (session json-data) t)
(declare-function eca--session-process "ext:eca-util" (session) t)
(declare-function eca-api-request-async "ext:eca-api" (session &rest keys) t)
(declare-function eca-api-notify "ext:eca-api" (session &rest keys) t)

(defconst eca-test-folder (file-name-directory (or load-file-name buffer-file-name))
  "Where the tests lie.")

(defconst eca-test-real (let ((dir (getenv "ECA_EMACS_DIR")))
                          (and dir (not (string-empty-p dir)) dir))
  "The folder of the real eca-emacs, or nil.")

(if (not eca-test-real)
    (load (expand-file-name "eca-stub.el" eca-test-folder) nil t t)
  (add-to-list 'load-path eca-test-real)
  (require 'eca))

(defvar eca--sessions)

(defun eca-test-wait (done what)
  "Wait until the function DONE returns non-nil; WHAT is waited for."
  (let ((deadline (+ (float-time) 20)))
    (while (not (funcall done))
      (when (> (float-time) deadline)
        (error "No %s within 20 seconds" what))
      (accept-process-output nil 0.01))))

(defun eca-test-lines (file)
  "Return the JSON values in FILE, one a line, as plists."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8))
      (when (file-exists-p file)
        (insert-file-contents file)))
    ;; The last line may still be in the making.
    (mapcar (lambda (line) (json-parse-string line :object-type 'plist :array-type 'list
                                              :null-object nil :false-object nil))
            (butlast (split-string (buffer-string) "\n")))))

(defmacro eca-test-with-folder (var &rest body)
  "Run BODY with VAR bound to a new folder, which is deleted afterwards."
  (declare (indent 1) (debug (symbolp body)))
  `(let ((,var (file-truename (file-name-as-directory (make-temp-file "eca-context-test" t)))))
     (unwind-protect (progn ,@body)
       (dolist (buffer (buffer-list))
         (when (string-prefix-p ,var (or (buffer-file-name buffer) ""))
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (kill-buffer buffer)))
       (delete-directory ,var t))))

(defun eca-test-write (file text)
  "Write TEXT into FILE and return its URI."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil file nil 'silent))
  (concat "file://" (url-hexify-string file (cons ?/ url-unreserved-chars))))

(defun eca-test-talk (folder steps)
  "Play STEPS, see conversation-server.py, in a session for FOLDER.
Return what the server was sent, `initialize' first."
  (let* ((scenario (make-temp-file "eca-context-scenario"))
         (log (make-temp-file "eca-context-answers"))
         (session (eca-create-session (list (directory-file-name folder))))
         (coding-system-for-write 'utf-8-unix))
    (write-region (json-encode steps) nil scenario nil 'silent)
    (unwind-protect
        (progn
          (setf (eca--session-process session)
                (make-process
                 :name "eca-context-conversation" :connection-type 'pipe :coding 'no-conversion
                 :noquery t
                 :command (list "python3" (expand-file-name "conversation-server.py"
                                                            eca-test-folder)
                                scenario log)
                 :filter (eca-process--make-filter
                          (lambda (message) (eca--handle-message session message)))))
          (eca-api-request-async
           session :method "initialize"
           :params (list :capabilities
                         (list :codeAssistant
                               (list :chat t :editor (list :diagnostics t :definition t))))
           :success-callback (lambda (_) (eca-api-notify session :method "initialized")))
          (eca-test-wait (lambda () (seq-some (lambda (line) (plist-member line :over))
                                              (eca-test-lines log)))
                         "end of the conversation")
          (mapcar (lambda (line) (plist-get line :message))
                  (seq-filter (lambda (line) (plist-member line :message))
                              (eca-test-lines log))))
      (delete-process (eca--session-process session))
      (eca-delete-session session)
      (delete-file scenario)
      (delete-file log))))

(defun eca-test-ask (id method &rest params)
  "Return a request ID for METHOD with PARAMS for a step of the server."
  `((id . ,id) (method . ,method) (params . ,(or params (make-hash-table)))))

(defun eca-test-answer (id messages)
  "Return the answer to ID in MESSAGES; there is exactly one."
  (let ((found (seq-filter (lambda (m) (and (plist-member m :id) (not (plist-get m :method))
                                            (equal (plist-get m :id) id)))
                           messages)))
    (should (equal (length found) 1))
    (car found)))

(defmacro eca-test-with-mode (&rest body)
  "Run BODY while `eca-context-mode' is on."
  (declare (debug (body)))
  `(unwind-protect
       (progn (let ((inhibit-message t)) (eca-context-mode 1))
              (should eca-context-mode)
              ,@body)
     (eca-context-mode -1)))

(defmacro eca-test-with-flymake (problems &rest body)
  "Run BODY while flymake holds PROBLEMS, (BEG END TYPE TEXT) each, in the buffer."
  (declare (indent 1) (debug (form body)))
  `(let ((problems ,problems))
     (setq-local flymake-diagnostic-functions
                 (list (lambda (report &rest _)
                         (funcall report
                                  (mapcar (lambda (problem)
                                            (apply #'flymake-make-diagnostic
                                                   (current-buffer) problem))
                                          problems)))))
     (flymake-mode 1)
     (flymake-start)
     (eca-test-wait (lambda () (flymake-reporting-backends)) "report")
     ,@body))

(ert-deftest eca-test-initialize-carries-capabilities ()
  (eca-test-with-folder folder
    (eca-test-with-mode
     (let* ((eca-context-disabled-features '("definitions"))
            (initialize (car (eca-test-talk folder [])))
            (editor (thread-first initialize (plist-get :params) (plist-get :capabilities)
                                  (plist-get :codeAssistant) (plist-get :editor))))
       (should (equal (plist-get editor :diagnostics) t))
       (should (equal (plist-get editor :context)
                      '(:symbolAtPosition t :definitions nil :references t :documentSymbols t
                        :enclosingSymbols t :documentation t :workspace t)))
       (should (equal (list (plist-get editor :definition) (plist-get editor :references))
                      '(nil t)))))))

(ert-deftest eca-test-off-nothing-is-advised ()
  (eca-test-with-folder folder
    (let* ((messages (eca-test-talk folder `[[,(eca-test-ask 1 "editor/getContext")]]))
           (editor (thread-first (car messages) (plist-get :params) (plist-get :capabilities)
                                 (plist-get :codeAssistant) (plist-get :editor))))
      (should-not (plist-member editor :context))
      (should-not (advice-member-p #'eca-context-eca--handle 'eca--handle-server-request))
      (should-not (advice-member-p #'eca-context-eca--request 'eca-api-request-async))
      (should (plist-member (eca-test-answer 1 messages) :result)))))

(ert-deftest eca-test-callers-params-stay ()
  (let* ((params '(:capabilities (:codeAssistant (:editor (:diagnostics t)))))
         (before (copy-tree params))
         (callback (lambda (_) 'x))
         (session (eca-create-session nil))
         (arguments (list session :method "initialize" :params params
                          :success-callback callback))
         (got (eca-context-eca--request arguments)))
    (eca-delete-session session)
    (should (equal params before))
    (should (eq (plist-get (cdr arguments) :params) params))
    (should (eq (plist-get (cdr got) :success-callback) callback))
    (should-not (equal (plist-get (cdr got) :params) before))
    (let ((other '(session :method "chat/prompt" :params (:a 1))))
      (should (eq (eca-context-eca--request other) other)))))

(ert-deftest eca-test-c38-context-is-answered-under-every-id ()
  (eca-test-with-folder folder
    (let* ((uri (eca-test-write (expand-file-name "caf é#1.el" folder)
                                ";;; -*- lexical-binding: t -*-\n(defun ours-f ()\n  1)\n\t(list \"😀\" (ours-f))\n"))
           (params `((uri . ,uri) (position . ((line . 3) (character . 14)))))
           ;; The last one is no float.
           (ids (list 0 "x" (1+ (expt 2 60))))
           (messages
            (eca-test-with-mode
             (eca-test-talk
              folder
              (vconcat (mapcar (lambda (id)
                                 (vector (apply #'eca-test-ask id "editor/getContext" params)))
                               ids)
                       (list (vector (eca-test-ask 7 "editor/getContext" '(limit . 0)))))))))
      (dolist (id ids)
        (let ((result (plist-get (eca-test-answer id messages) :result)))
          (should (equal (plist-get result :uri) uri))
          (should (equal (plist-get (plist-get result :symbolAtPosition) :text) "ours-f"))
          (should (equal (plist-get (plist-get (plist-get result :symbolAtPosition) :range)
                                    :start)
                         '(:line 3 :character 13)))
          (should (equal (plist-get (car (plist-get result :documentSymbols)) :name)
                         "ours-f"))))
      (let ((answer (eca-test-answer 7 messages)))
        (should-not (plist-member answer :result))
        (should (equal (plist-get (plist-get answer :error) :code) -32602))))))

(ert-deftest eca-test-diagnostics-are-answered ()
  (eca-test-with-folder folder
    (let* ((file (expand-file-name "a.txt" folder))
           (uri (eca-test-write file "one\ntwo 😀 bad\n"))
           messages)
      (with-current-buffer (find-file-noselect file)
        (eca-test-with-flymake
         (list (list 11 14 :warning "no such word"))
         (eca-test-with-mode
          (setq messages
                (eca-test-talk folder
                               `[[,(eca-test-ask 1 "editor/getDiagnostics" `(uri . ,uri))
                                  ,(eca-test-ask 2 "editor/getDiagnostics")]])))))
      (dolist (id '(1 2))
        (let* ((result (plist-get (eca-test-answer id messages) :result))
               (found (car (plist-get result :diagnostics))))
          (should (equal (length (plist-get result :diagnostics)) 1))
          (should (equal (plist-get found :severity) "warning"))
          (should (equal (plist-get found :message) "no such word"))
          (should (equal (plist-get found :range)
                         '(:start (:line 1 :character 7) :end (:line 1 :character 10)))))))))

(ert-deftest eca-test-diagnostics-of-the-workspace ()
  (eca-test-with-folder folder
    (eca-test-with-folder other
      (dolist (file (list (expand-file-name "a.txt" folder) (expand-file-name ".env" folder)
                          (expand-file-name "b.txt" other)))
        (eca-test-write file "one\n")
        (find-file-noselect file))
      (let* ((unread (expand-file-name "unread.txt" folder))
             (flymake-list-only-diagnostics
              (mapcar (lambda (file)
                        (list file (flymake-make-diagnostic file '(2 . 3) '(2 . 4) :note file)))
                      (list unread (expand-file-name "unread.pem" folder)
                            (expand-file-name "unread.txt" other))))
             (problems (list (list 1 4 :error "E")))
             messages)
        (eca-test-write unread "one\n\ttwo\n")
        (dolist (file (list (expand-file-name "a.txt" folder) (expand-file-name ".env" folder)
                            (expand-file-name "b.txt" other)))
          (with-current-buffer (get-file-buffer file)
            (eca-test-with-flymake problems)))
        (setq messages
              (eca-test-with-mode
               (eca-test-talk folder `[[,(eca-test-ask 1 "editor/getDiagnostics")]])))
        (should (equal (mapcar (lambda (found)
                                 (list (file-name-nondirectory (plist-get found :uri))
                                       (plist-get (plist-get found :range) :start)
                                       (plist-get found :severity)))
                               (plist-get (plist-get (eca-test-answer 1 messages) :result)
                                          :diagnostics))
                       '(("a.txt" (:line 0 :character 0) "error")
                         ("unread.txt" (:line 1 :character 2) "info"))))))))

(defun eca-test-slow-symbol (_request callback)
  "Answer through CALLBACK, after a while."
  (run-at-time 0.3 nil callback
               '(:provider "slow" :kind "unknown" :status "ok" :items nil))
  :async)

(defun eca-test-slow-for-a (request callback)
  "Be slow, through CALLBACK, for a file a.el in REQUEST; else at once."
  (if (string-suffix-p "/a.el" (plist-get request :path))
      (eca-test-slow-symbol request callback)
    '(:provider "quick" :kind "unknown" :status "ok" :items nil)))

(ert-deftest eca-test-c35-the-quick-pass-the-slow ()
  (eca-test-with-folder folder
    (let* ((uri-a (eca-test-write (expand-file-name "a.el" folder) "a\n"))
           (uri-b (eca-test-write (expand-file-name "b.el" folder) "b\n"))
           (eca-context-symbol-functions '(eca-test-slow-for-a))
           (ask (lambda (id uri)
                  (eca-test-ask id "editor/getContext" `(uri . ,uri)
                                '(position . ((line . 0) (character . 0)))
                                '(include . ["symbolAtPosition"]))))
           (messages
            (eca-test-with-mode
             (eca-test-talk folder `[[,(funcall ask 1 uri-a) ,(funcall ask 2 uri-b)]
                                     ((cut . [,(funcall ask 3 uri-b) 30]))])))
           (order (mapcar (lambda (message) (plist-get message :id)) (cdr messages))))
      (should (equal order '(2 3 1))))))

(ert-deftest eca-test-unknown-methods-are-theirs ()
  (let ((original (lambda (session request) (list session request))))
    (dolist (method '("editor/getCodeActions" "editor/none" nil))
      (let ((request (list :id 1 :method method)))
        (should (equal (eca-context-eca--handle original 'session request)
                       (list 'session request)))))))

(ert-deftest eca-test-a-server-elsewhere-is-theirs ()
  (eca-test-with-folder folder
    (let ((uri (eca-test-write (expand-file-name "a.el" folder) "(car nil)\n")))
      (pcase-dolist (`(,map ,roots) `((((,folder . "/workspace/")) (,folder))
                                      (nil ("/ssh:nobody.invalid:/workspace/" ,folder))))
        (cl-progv '(eca-local-to-remote-prefix-map) (list map)
          (eca-test-with-mode
           (let ((session (eca-create-session roots))
                 (request (list :id 1 :method "editor/getDiagnostics" :params (list :uri uri)))
                 (arguments (list :method "initialize" :params (list :capabilities nil))))
             (unwind-protect
                 (progn
                   (should (eq (eca-context-eca--handle (lambda (&rest _) 'theirs) session request)
                               'theirs))
                   (should (equal (eca-context-eca--request (cons session arguments))
                                  (cons session arguments))))
               (eca-delete-session session)))))))))

(ert-deftest eca-test-a-dead-server-is-no-fault ()
  (let ((session (eca-create-session '("/")))
        (process (make-process :name "eca-context-dead" :command '("true") :noquery t)))
    (eca-test-wait (lambda () (not (process-live-p process))) "end of the process")
    (unwind-protect
        (progn (setf (eca--session-process session) process)
               (eca-context-eca--send session 1 "frame"))
      (eca-delete-session session))))

(ert-deftest eca-test-a-server-that-does-not-read ()
  (eca-test-with-folder folder
    (let* ((session (eca-create-session '("/")))
           (go (expand-file-name "go" folder))
           (out "")
           (process (make-process
                     :name "eca-context-sleepy" :connection-type 'pipe :noquery t :coding 'binary
                     :command (list "sh" "-c" "while ! test -e \"$0\"; do sleep 0.05; done; cat" go)
                     :filter (lambda (_ text) (setq out (concat out text)))))
           (frame (make-string 200000 ?a))
           (start (float-time))
           (latest 0) (last (float-time))
           (timers (length timer-list))
           (ticks (run-at-time 0 0.01 (lambda ()
                                        (setq latest (max latest (- (float-time) last))
                                              last (float-time))))))
      (unwind-protect
          (progn
            (setf (eca--session-process session) process)
            (dotimes (n 3)
              (eca-context-eca--send session n (concat frame (number-to-string n))))
            (should (< (- (float-time) start) 0.5))
            (while (< (- (float-time) start) 1) (accept-process-output nil 0.01))
            (should (< latest 0.5))
            (write-region "" nil go nil 'silent)
            (eca-test-wait (lambda () (= (length out) 600003)) "all frames")
            (should (equal (replace-regexp-in-string "a+" "" out) "012"))
            ;; Stopped, it gets what it has to get when it goes on.
            (signal-process process 'SIGSTOP)
            (eca-test-wait (lambda () (eq (process-status process) 'stop)) "stop")
            (eca-context-eca--send session 6 "stopped")
            (signal-process process 'SIGCONT)
            (eca-test-wait (lambda () (string-suffix-p "stopped" out)) "the answer")
            ;; It stops for good.
            (signal-process process 'SIGSTOP)
            (eca-test-wait (lambda () (eq (process-status process) 'stop)) "stop")
            (eca-context-eca--send session 7 frame)
            (delete-process process)
            (eca-test-wait (lambda () (not (gethash process eca-context-eca--unsent))) "the end")
            (cancel-timer ticks)
            (should (<= (length timer-list) timers)))
        (cancel-timer ticks)
        (delete-process process)
        (eca-delete-session session)))))

(ert-deftest eca-test-the-server-dies-meanwhile ()
  (eca-test-with-folder folder
    (let* ((uri (eca-test-write (expand-file-name "a.el" folder) "a\n"))
           (eca-context-symbol-functions '(eca-test-slow-symbol))
           (eca-context-log-size 5)
           (eca-context-log--entries nil)
           (session (eca-create-session (list folder)))
           (process (make-process :name "eca-context-cat" :command '("cat") :noquery t))
           (timers (length timer-list)))
      (unwind-protect
          (progn
            (setf (eca--session-process session) process)
            (should (eq (eca-context-eca--handle
                         #'ignore session
                         (list :id 1 :method "editor/getContext"
                               :params (list :uri uri :position '(:line 0 :character 0)
                                             :include '("symbolAtPosition"))))
                        :async))
            (run-at-time 0.1 nil #'delete-process process)
            (eca-test-wait (lambda () (seq-some (lambda (entry)
                                                  (string-match-p "the server is gone" entry))
                                                eca-context-log--entries))
                           "note that the server is gone")
            (should (<= (length timer-list) timers)))
        (eca-delete-session session)))))

(ert-deftest eca-test-renamed-functions-are-refused ()
  (let ((eca-context-eca--needed '((eca-context-test-no-such-function 2))))
    (should (string-match-p "no-such-function" (eca-context-eca-install)))
    (should-not (advice-member-p #'eca-context-eca--handle 'eca--handle-server-request))))

(ert-deftest eca-test-a-running-server-needs-a-restart ()
  (let ((session (eca-create-session '("/")))
        (process (make-process :name "eca-context-cat" :command '("cat") :noquery t))
        said)
    (unwind-protect
        (cl-letf (((symbol-function 'message)
                   (lambda (&rest arguments) (setq said (apply #'format arguments)))))
          (setf (eca--session-process session) process)
          (should-not (eca-context-eca-install))
          (should (string-match-p "M-x eca-restart" said)))
      (eca-context-eca-uninstall)
      (delete-process process)
      (eca-delete-session session))))

(ert-deftest eca-test-log-is-bounded-and-off ()
  (let ((eca-context-log--entries nil)
        (eca-context-log-size nil))
    (eca-context-log-note "a" "b")
    (should-not eca-context-log--entries)
    (setq eca-context-log-size 2)
    (dotimes (n 5)
      (eca-context-log-note (format "title %d" n) (make-string 20000 ?x)))
    (should (equal (length eca-context-log--entries) 2))
    (should (string-match-p "title 4" (car eca-context-log--entries)))
    (should (< (length (car eca-context-log--entries)) 11000))))

(defun eca-test-arguments (file)
  "Return each function that FILE defines and its arguments."
  (with-temp-buffer
    (insert-file-contents file)
    (let (found)
      (condition-case nil
          (while t
            (pcase (read (current-buffer))
              (`(,(or 'defun 'cl-defun) ,name ,arguments . ,_)
               (push (cons name (mapcar (lambda (argument)
                                          (intern (string-remove-prefix
                                                   "_" (symbol-name argument))))
                                        arguments))
                     found))))
        (end-of-file found)))))

;; Only where the real one is there to compare with.
(when eca-test-real
  (ert-deftest eca-test-the-stand-in-has-the-real-arguments ()
    (let ((real (mapcan #'eca-test-arguments (directory-files eca-test-real t "\\`eca.*\\.el\\'")))
          (n-compared 0))
      (pcase-dolist (`(,name . ,arguments)
                     (eca-test-arguments (expand-file-name "eca-stub.el" eca-test-folder)))
        (unless (string-prefix-p "eca-stub-" (symbol-name name))
          (setq n-compared (1+ n-compared))
          (should (equal (cons name arguments) (assq name real)))))
      (should (> n-compared 7)))))

(provide 'eca-test)
;;; eca-test.el ends here
