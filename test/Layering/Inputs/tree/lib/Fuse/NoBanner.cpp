int answer;
