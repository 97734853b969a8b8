;;; job-test.el --- Tests of asking providers side by side  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Chains, their deadline, and every way a provider can fail, without the module.

;; Run-ert: slow, it waits for timers.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'eca-context-job)
(require 'guest)

(defun job-test-ok (name &rest keys)
  "Return an outcome of NAME with KEYS."
  (append keys (list :provider name :kind "textual" :status "ok" :items (list name))))

(defun job-test-run (seconds &rest chains)
  "Run CHAINS, lists of a key and functions, for at most SECONDS.
Return the result and how long it took; what is left behind is a failure."
  (with-temp-buffer
    (let ((buffer (current-buffer))
          (timers (length timer-list))
          (start (float-time))
          (n-done 0)
          result took)
      (eca-context-job-run
       (mapcar (lambda (chain)
                 (eca-context-job-chain :key (car chain) :functions (cdr chain) :buffer buffer))
               chains)
       (+ start seconds)
       (lambda (said)
         (setq n-done (1+ n-done) result said took (- (float-time) start))))
      (should (= n-done 0))
      (while (and (= n-done 0) (< (- (float-time) start) (+ seconds 5)))
        (accept-process-output nil 0.01))
      (should (= n-done 1))
      ;; What has been answered holds nobody up any more.
      (should (< (- (float-time) start) (+ seconds 0.5)))
      (should (<= (length timer-list) timers))
      (list result took))))

(defun job-test-says (result)
  "Return the providers and the states of RESULT's outcomes, by key."
  (cl-loop for (key outcomes) on result by #'cddr
           collect (cons key (mapcar (lambda (outcome)
                                       (list (plist-get outcome :provider)
                                             (plist-get outcome :status)
                                             (plist-get outcome :reason)))
                                     outcomes))))

(defun job-test-good (&rest _) "Say something." (job-test-ok "good"))
(defun job-test-other (&rest _) "Say something, too." (job-test-ok "other"))
(defun job-test-knows (&rest _) "Say something semantic." (job-test-ok "knows" :kind "semantic"))
(defun job-test-errs (&rest _) "Signal." (error "Broken %d" 7))
(defun job-test-asks (&rest _) "Want to ask the user." (yes-or-no-p "Really? "))
(defun job-test-waits (&rest _) "Wait for 30 seconds." (sleep-for 30) (job-test-ok "waits"))
(defun job-test-silent (&rest _) "Never answer." :async)
(defun job-test-computes (&rest _)
  "Compute for 2 seconds without a pause."
  (let ((start (float-time)))
    (while (< (- (float-time) start) 2)))
  (job-test-ok "computes"))
(put 'job-test-computes 'eca-context-computes t)
(defvar job-test-n-calls 0 "How often `job-test-interrupted' was called.")
(defun job-test-interrupted (&rest _)
  "Be interrupted as by input, and the next time wait for 30 seconds."
  (if (= 1 (setq job-test-n-calls (1+ job-test-n-calls)))
      (throw throw-on-input t)
    (sleep-for 30)))
(put 'job-test-interrupted 'eca-context-computes t)
(defun job-test-twice (_ callback)
  "Answer through CALLBACK twice, and return something, too."
  (funcall callback (job-test-ok "first"))
  (funcall callback (job-test-ok "second"))
  (job-test-ok "third"))
(defun job-test-later (_ callback)
  "Answer through CALLBACK later, twice."
  (run-at-time 0.05 nil (lambda ()
                          (funcall callback (job-test-ok "later"))
                          (funcall callback (job-test-ok "again"))))
  :async)
(defun job-test-late (_ callback)
  "Answer now, and through CALLBACK when the next one is asked."
  (run-at-time 0.02 nil callback (job-test-ok "late"))
  (job-test-ok "now"))
(defun job-test-throws (&rest _) "Throw to nobody." (throw 'job-test-nobody nil))
(defun job-test-quits (&rest _) "Quit as a command would." (signal 'quit nil))
(defun job-test-exits (&rest _) "End a recursive edit." (throw 'exit nil))
(defun job-test-aborts (&rest _) "Go back to the top." (top-level))
(defun job-test-warns (&rest _)
  "Warn as loudly as one can."
  (display-warning 'job-test "Look at me" :error)
  (job-test-ok "warns"))
(defun job-test-moves (&rest _)
  "Leave the world changed."
  (set-match-data '(7 8))
  (set-buffer (get-buffer-create "*scratch*"))
  (when (one-window-p) (split-window))
  (job-test-ok "moves"))

(ert-deftest job-test-c20-a-fault-is-an-outcome ()
  (should (equal (job-test-says (car (job-test-run 5 '(:a job-test-errs job-test-good))))
                 '((:a ("job-test-errs" "error" "Broken 7") ("good" "ok" nil)))))
  (should (equal (cdadar (job-test-says (car (job-test-run 5 '(:a job-test-throws)))))
                 '("error" "No catch for tag: job-test-nobody, nil"))))

(ert-deftest job-test-c20-what-is-no-outcome ()
  (dolist (said `(t "text" 42 ,(current-buffer) (1 2) (job-test . good) ((:provider "a") . 5)
                    (:provider) (:provider ,(current-buffer)) (:status 5) (:items 5) (:items "abc")
                    (:items (1 . 2)) (:kind semantic) ,(let ((ring (list 1 2)))
                                                         (setcdr (cdr ring) ring))))
    (ert-info ((format "%S" (type-of said)))
      (let ((outcomes (plist-get (car (job-test-run
                                       5 (list :a (lambda (&rest _) said) #'job-test-good)))
                                 :a)))
        (should (equal (plist-get (car (last outcomes)) :provider) "good"))
        (should (> (length outcomes) 1))
        (dolist (outcome (butlast outcomes))
          (should (equal outcome '(:provider "" :kind "unknown" :status "error"
                                   :reason "what it answered is no outcome"))))))))

(ert-deftest job-test-c20-the-command-loop-goes-on ()
  (pcase-dolist (`(,function ,reason)
                 '((job-test-quits "it quit")
                   (job-test-exits "it wanted to leave the command loop")
                   (job-test-aborts "it wanted to leave the command loop")))
    (let (quit-flag)
      (should (equal (job-test-says (car (job-test-run 5 (list :a function #'job-test-good))))
                     `((:a (,(symbol-name function) "error" ,reason) ("good" "ok" nil)))))
      (should-not quit-flag))))

(ert-deftest job-test-c20-nobody-is-warned ()
  (let ((windows (window-list)))
    (should (equal (job-test-says (car (job-test-run 5 '(:a job-test-warns))))
                   '((:a ("warns" "ok" nil)))))
    (should-not (get-buffer "*Warnings*"))
    (should (equal windows (window-list)))))

;; As flymake calls its checkers.
(ert-deftest job-test-no-debugger-opens ()
  (let* ((opened nil)
         (debug-on-error t)
         (debugger (lambda (&rest args) (push args opened)))
         (guarded (lambda (&rest _)
                    (condition-case-unless-debug nil (job-test-errs) (error nil))
                    (job-test-ok "guarded"))))
    (should (equal (job-test-says (car (job-test-run 5 (list :a #'job-test-errs guarded))))
                   '((:a ("job-test-errs" "error" "Broken 7") ("guarded" "ok" nil)))))
    (should-not opened)))

(ert-deftest job-test-an-empty-answer-ends-nothing ()
  (dolist (empty '((:items []) (:items nil) (:raw nil) (:raw []) (:rawJson "null")))
    (should (equal (length (plist-get
                            (car (job-test-run
                                  5 (list :a (lambda (&rest _)
                                               (append empty '(:kind "semantic" :provider "a")))
                                          #'job-test-good)))
                            :a))
                   2)))
  (dolist (full '((:items [1]) (:raw (:uri "a")) (:raw [1]) (:rawJson "[{}]")))
    (should (equal (length (plist-get
                            (car (job-test-run
                                  5 (list :a (lambda (&rest _)
                                               (append full '(:kind "semantic" :provider "a")))
                                          #'job-test-good)))
                            :a))
                   1))))

(ert-deftest job-test-c20-one-that-waits-is-cut-short ()
  (pcase-let ((`(,result ,took) (job-test-run 2 '(:a job-test-waits) '(:b job-test-good)
                                              '(:c job-test-waits job-test-later))))
    (should (equal (job-test-says result)
                   '((:a ("job-test-waits" "timeout" "it did not answer in time"))
                     (:b ("good" "ok" nil))
                     (:c ("job-test-waits" "timeout" "it did not answer in time")
                         ("later" "ok" nil)))))
    (should (< took 2.2))))

(ert-deftest job-test-c20-one-that-waits-inside-another ()
  ;; The outer one has half of the time, and then the good one is asked.
  (should (equal (job-test-says (car (job-test-run 1 '(:a job-test-waits job-test-good)
                                                   '(:b job-test-waits))))
                 '((:a ("job-test-waits" "timeout" "it did not answer in time") ("good" "ok" nil))
                   (:b ("job-test-waits" "timeout" "it did not answer in time"))))))

(ert-deftest job-test-c20-one-that-computes-comes-last ()
  (pcase-let ((`(,result ,took) (job-test-run 8 '(:a job-test-computes) '(:b job-test-later))))
    (should (equal (job-test-says result)
                   '((:a ("computes" "ok" nil)) (:b ("later" "ok" nil)))))
    (should (< 2 took 3))))

(ert-deftest job-test-c20-interrupted-and-then-too-slow ()
  (setq job-test-n-calls 0)
  (should (equal (job-test-says (car (job-test-run 1 '(:a job-test-interrupted))))
                 '((:a ("job-test-interrupted" "timeout" "it did not answer in time")))))
  (should (= job-test-n-calls 2)))

(ert-deftest job-test-silence-ends-at-the-deadline ()
  (pcase-let ((`(,result ,took) (job-test-run 0.5 '(:a job-test-silent job-test-good)
                                              '(:b job-test-silent))))
    (should (equal (job-test-says result)
                   '((:a ("job-test-silent" "timeout" "it did not answer in time")
                         ("good" "ok" nil))
                     (:b ("job-test-silent" "timeout" "it did not answer in time")))))
    (should (< took 0.7))))

(ert-deftest job-test-one-turn-one-answer ()
  (should (equal (job-test-says (car (job-test-run 5 '(:a job-test-twice) '(:b job-test-later))))
                 '((:a ("first" "ok" nil)) (:b ("later" "ok" nil)))))
  ;; Nor is what one says too often the answer of the next.
  (should (equal (job-test-says (car (job-test-run 5 '(:a job-test-twice job-test-later)
                                                   '(:b job-test-later job-test-silent job-test-good)
                                                   '(:c job-test-late job-test-later job-test-good))))
                 '((:a ("first" "ok" nil) ("later" "ok" nil))
                   (:b ("later" "ok" nil)
                       ("job-test-silent" "timeout" "it did not answer in time") ("good" "ok" nil))
                   (:c ("now" "ok" nil) ("later" "ok" nil) ("good" "ok" nil))))))

(ert-deftest job-test-nobody-is-asked ()
  (should (equal (job-test-says (car (job-test-run 5 '(:a job-test-asks))))
                 '((:a ("job-test-asks" "would-prompt" "it wanted to ask the user"))))))

(ert-deftest job-test-a-semantic-answer-ends-the-search ()
  (should (equal (job-test-says
                  (car (job-test-run 5 '(:a job-test-good job-test-knows job-test-other)
                                     '(:a job-test-other) '(:b ignore job-test-other))))
                 '((:a ("good" "ok" nil) ("knows" "ok" nil) ("other" "ok" nil))
                   (:b ("other" "ok" nil))))))

(ert-deftest job-test-one-with-nothing-to-say-gives-up-its-turn ()
  (let* (calls
         (says (lambda (name said)
                 (lambda (&rest _) (push name calls) (and said (job-test-ok name))))))
    (job-test-run 5
                  (list :a (funcall says "a1" nil) (funcall says "a2" t) (funcall says "a3" t))
                  (list :b (funcall says "b1" nil) (funcall says "b2" t))
                  (list :c (funcall says "c1" t)))
    (should (equal (nreverse calls) '("a1" "a2" "b1" "b2" "c1" "a3")))))

(ert-deftest job-test-nothing-to-ask ()
  (should-not (car (job-test-run 5))))

(ert-deftest job-test-the-world-stays ()
  (string-match "b+" "abbc")
  (let ((windows (window-list)))
    (job-test-run 5 '(:a job-test-moves))
    (should (equal windows (window-list)))
    (should (equal (match-data) '(1 3)))))

(ert-deftest job-test-a-buffer-that-is-killed ()
  (let ((buffer (generate-new-buffer "job-test"))
        result)
    (eca-context-job-run
     (list (eca-context-job-chain
            :key :a :buffer buffer
            :functions (list (lambda (&rest _) (kill-buffer buffer) (job-test-ok "kills"))
                             #'job-test-good)))
     (+ (float-time) 5)
     (lambda (said) (setq result said)))
    (while (null result) (accept-process-output nil 0.01))
    (should (equal (job-test-says result)
                   '((:a ("kills" "ok" nil) ("" "error" "the buffer was killed")))))))

;;;; With a user who types: an Emacs on a terminal of its own

(defconst job-test-folder (file-name-directory (or load-file-name buffer-file-name))
  "Where the tests lie.")

(defun job-test-user (keys &optional function n)
  "Let a second Emacs ask FUNCTION, N (1) times at once, while KEYS arrive.
FUNCTION of job-user.el is by default one that computes for a second.  KEYS is a
list of (SECONDS . STRING), sent one after another.  Return what it wrote when
the jobs were over, a list (RESULT TEXT LATEST), TEXT being what it had
in its buffer and LATEST the longest time in seconds from one key to the next."
  (let* ((out (make-temp-file "eca-context-job"))
         (process (make-process
                   :name "job-test-user" :connection-type 'pty :noquery t
                   :filter #'ignore
                   :command (list (expand-file-name invocation-name invocation-directory)
                                  "-nw" "-Q" "--eval"
                                  "(setq native-comp-jit-compilation nil \
native-comp-deferred-compilation nil)"
                                  "-L" (file-name-directory (locate-library
                                                                        "eca-context-job"))
                                  "-l" (expand-file-name "job-user.el" job-test-folder)
                                  "--eval" (format "(job-user-start %S '%s %d)" out
                                                   (or function 'job-user-computes) (or n 1))))))
    (unwind-protect
        (let ((deadline (+ (float-time) 20)))
          (set-process-window-size process 24 80)
          (while (not (string-prefix-p "ready" (job-test-text out)))
            (should (< (float-time) deadline))
            (accept-process-output nil 0.02))
          (pcase-dolist (`(,seconds . ,string) keys)
            (sleep-for seconds)
            (process-send-string process string))
          (while (not (string-match-p "over" (job-test-text out)))
            (should (< (float-time) deadline))
            (accept-process-output nil 0.02))
          (read (substring (job-test-text out) (string-match "(" (job-test-text out)))))
      (delete-process process)
      (delete-file out))))

(defun job-test-text (file)
  "Return the text of FILE."
  (with-temp-buffer (insert-file-contents file) (buffer-string)))

(ert-deftest job-test-c20-typing-wins ()
  (setenv "TERM" "xterm")
  (guest-within 0.2
    (pcase-let ((`(,result ,text ,latest)
                 (job-test-user (cons '(0.3 . "a") (make-list 9 '(0.05 . "a"))))))
      (should (equal result '("computes" "ok")))
      (should (equal text "aaaaaaaaaa"))
      latest)))

(ert-deftest job-test-c20-typing-wins-over-one-that-waits ()
  (setenv "TERM" "xterm")
  (guest-within 0.2
    (pcase-let ((`(,result ,text ,latest)
                 (job-test-user (cons '(0.3 . "a") (make-list 9 '(0.05 . "a")))
                                'eca-context-xref-definitions)))
      (should (equal result '("xref job-user-waits" "ok")))
      (should (equal text "aaaaaaaaaa"))
      latest)))

(ert-deftest job-test-c20-typing-through-a-burst ()
  (setenv "TERM" "xterm")
  (guest-within 0.2
    (pcase-let ((`(,result ,text ,latest)
                 (job-test-user (cons '(0.3 . "a") (make-list 15 '(0.05 . "a")))
                                'job-user-works 200)))
      (should (equal result '("works" "ok")))
      (should (> (length text) 10))
      latest)))

(ert-deftest job-test-c20-one-who-never-stops-typing ()
  (setenv "TERM" "xterm")
  (pcase-let ((`(,result ,text ,_) (job-test-user (make-list 60 '(0.1 . "a")))))
    (should (equal result '("job-user-computes" "busy")))
    (should (> (length text) 20))))

(ert-deftest job-test-c20-quitting-is-the-users ()
  (setenv "TERM" "xterm")
  (pcase-let ((`(,result ,_ ,_) (job-test-user '((0.4 . "\C-g")))))
    (should (equal result '("computes" "ok")))))

(provide 'job-test)
;;; job-test.el ends here
