;;; flow-test.el --- Requests whose world changes while they wait  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Buffers killed, servers gone, modes switched, many at once: one answer each, and nothing is left.

;;; Code:

(require 'cl-lib)
(require 'flymake)
(require 'guest)

(defvar flow-test-delay 0.3 "How long the provider takes, in seconds; nil: for ever.")

(defun flow-test-symbol (request callback)
  "Answer through CALLBACK, after a while, with the path of REQUEST."
  (when flow-test-delay
    (run-at-time flow-test-delay nil callback
                 (list :provider "flow" :kind "semantic" :status "ok"
                       :items (list (vector (file-name-nondirectory (plist-get request :path))
                                            [0 0 0 1] nil)))))
  :async)

(defun flow-test-start (uri frames &optional seconds)
  "Ask for the symbol at the start of URI, within SECONDS; frames go into FRAMES.
FRAMES is a list whose car is a symbol; answers are pushed behind it."
  (eca-context-answer (length frames) "editor/getContext"
                      (list :uri uri :position '(:line 0 :character 0)
                            :include ["symbolAtPosition"])
                      (list :roots nil :deadline (+ (float-time) (or seconds 5)))
                      (lambda (frame) (setcdr frames (cons frame (cdr frames))))))

(defun flow-test-wait (frames n)
  "Wait until there are N answers in FRAMES, and a bit longer for one too many."
  (let ((deadline (+ (float-time) 20)))
    (while (and (< (length (cdr frames)) n) (< (float-time) deadline))
      (accept-process-output nil 0.01))
    (let ((end (+ (float-time) 0.5)))
      (while (< (float-time) end) (accept-process-output nil 0.05)))
    (should (= (length (cdr frames)) n))))

(defmacro flow-test-with (&rest body)
  "Evaluate BODY with `file' and `uri' of a visited file, and a slow provider."
  (declare (debug (body)))
  `(guest-with-folder folder
     (let* ((file (expand-file-name "a.txt" folder))
            (uri (guest-write file "word\n"))
            (eca-context-symbol-functions '(flow-test-symbol))
            (frames (list 'frames))
            (flow-test-delay 0.3))
       (ignore frames)
       (find-file-noselect file)
       ,@body)))

(ert-deftest flow-test-the-buffer-is-killed ()
  (flow-test-with
   (flow-test-start uri frames 1)
   (run-at-time 0.1 nil (lambda () (kill-buffer (get-file-buffer file))))
   (flow-test-wait frames 1)
   (should (string-match-p "\"symbolAtPosition\":{\"text\":\"a.txt\"" (cadr frames)))))

(ert-deftest flow-test-two-hundred-at-once ()
  (flow-test-with
   (guest-settle)
   (let ((timers (length timer-list)) (buffers (length (buffer-list))))
     (dotimes (n 200)
       (flow-test-start (if (zerop (% n 2)) uri
                          (guest-write (format "%sf%d.txt" folder n) "word\n"))
                        frames 15))
     (flow-test-wait frames 200)
     (should (= (length (seq-filter (lambda (frame) (string-match-p "\"text\":\"" frame))
                                    (cdr frames)))
                200))
     (should (<= (length timer-list) timers))
     (should (= (length (buffer-list)) buffers)))))

(ert-deftest flow-test-an-answer-after-the-deadline-is-not-a-second-one ()
  (flow-test-with
   (let ((flow-test-delay 0.6))
     (flow-test-start uri frames 0.3)
     (flow-test-wait frames 1)
     (should (string-match-p "\"code\":\"timeout\"" (cadr frames))))))

(ert-deftest flow-test-the-mode-is-switched-off-meanwhile ()
  (flow-test-with
   (let ((inhibit-message t))
     (eca-context-mode 1)
     (flow-test-start uri frames)
     (eca-context-mode -1))
   (flow-test-wait frames 1)
   (should (string-match-p "\"text\":\"a.txt\"" (cadr frames)))))

(ert-deftest flow-test-edits-meanwhile ()
  (flow-test-with
   (flow-test-start uri frames)
   (with-current-buffer (get-file-buffer file)
     (run-at-time 0.1 nil (lambda () (with-current-buffer (get-file-buffer file)
                                       (erase-buffer)))))
   (flow-test-wait frames 1)
   (should (string-match-p "\"text\":\"a.txt\"" (cadr frames)))))

(defun flow-test-memory ()
  "Return how many kilobytes this Emacs has in memory; nil where that is not told."
  (let ((file "/proc/self/statm"))
    (when (file-readable-p file)
      (with-temp-buffer
        (insert-file-contents file)
        (* 4 (string-to-number (cadr (split-string (buffer-string)))))))))

;; ERT keeps what every `should' has seen, which would be all that grows.
(defvar ert--should-execution-observer)

(defun flow-test-soak (n)
  "Ask N times with edits between; return what has grown, a plist."
  (flow-test-with
   (let* ((ert--should-execution-observer nil)
          (eca-context-symbol-functions '(eca-context-symbol-at-point))
          (flymake-no-changes-timeout 0.5)
          (world (lambda ()
                   (guest-settle)
                   (garbage-collect)
                   (list :buffers (length (buffer-list)) :processes (length (process-list))
                         :timers (+ (length timer-list) (length timer-idle-list))
                         :overlays (with-current-buffer (get-file-buffer file)
                                     (length (overlays-in (point-min) (point-max))))
                         :hooks (length (append find-file-hook kill-buffer-hook
                                                after-change-functions post-command-hook)))))
          before memory)
     (with-current-buffer (get-file-buffer file)
       (setq-local flymake-diagnostic-functions
                   (list (lambda (report &rest _)
                           (funcall report (list (flymake-make-diagnostic
                                                  (current-buffer) 1 5 :error "bad"))))))
       (flymake-mode 1)
       (buffer-disable-undo))
     (dotimes (i n)
       (when (= i (/ n 5))
         (setq before (funcall world) memory (flow-test-memory)))
       (with-current-buffer (get-file-buffer file)
         (goto-char (point-max))
         (insert "more\n")
         (when (zerop (% i 50)) (erase-buffer) (insert "word\n")))
       (let ((answer (guest-ask (if (zerop (% i 2)) "editor/getDiagnostics" "editor/getContext")
                                (list :uri uri :position '(:line 0 :character 2)))))
         (should (plist-get answer :result))))
     (let ((after (funcall world)))
       (should (equal before after))
       (list :memory (- (or (flow-test-memory) 0) (or memory 0)))))))

(ert-deftest flow-test-nothing-grows ()
  (let ((grown (plist-get (flow-test-soak (or (and (getenv "SOAK_REQUESTS")
                                                   (string-to-number (getenv "SOAK_REQUESTS")))
                                              300))
                          :memory)))
    (message "soak: grown by %d kB" grown)
    (should (< grown 20000))))

(provide 'flow-test)
;;; flow-test.el ends here
